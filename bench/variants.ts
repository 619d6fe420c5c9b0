/** Variants that are compared: kinds of job, stop methods, and kinds of fault. */

import type { StopMethod } from '../contract/job/jobs.ts';
import { batchJob, type JobManifest, pytorchJob } from '../testbed/job-manifests.ts';

export interface Variant {
  readonly name: string;
  readonly kind: 'PyTorchJob' | 'Job';
  readonly by: StopMethod;
  /** `kernel`: a line of the kernel log of a node. `pod`: a container fails and its kubelet restarts it. `none`: the floor, without kcover. */
  readonly fault: 'kernel' | 'pod' | 'none';
  /** Without kcover only: a delete-collection right after the suspend, so that the job's operator has no pod left to delete. */
  readonly hastened?: true;
}

/** The training operator's client may send 20 requests a second: with hundreds of pods a PyTorchJob would measure only that limit. */
const mostOfOperator = 64;

/** The variants for this many pods. */
export const variantsFor = (pods: number, method?: StopMethod, names?: readonly string[]): readonly Variant[] =>
  variantsOf(method, names).filter(({ kind }) => names !== undefined || kind === 'Job' || pods <= mostOfOperator);

/** Variants of one stop method, or with one of these names, or all. */
export const variantsOf = (method?: StopMethod, names?: readonly string[]): readonly Variant[] =>
  all.filter(
    ({ by, name }) => (method === undefined || by === method) && (names === undefined || names.includes(name)),
  );

const all: readonly Variant[] = [
  { name: 'pytorch-suspend', kind: 'PyTorchJob', by: 'suspend', fault: 'kernel' },
  { name: 'pytorch-suspend-pod', kind: 'PyTorchJob', by: 'suspend', fault: 'pod' },
  { name: 'pytorch-suspend-bare', kind: 'PyTorchJob', by: 'suspend', fault: 'none' },
  { name: 'pytorch-suspend-hastened-bare', kind: 'PyTorchJob', by: 'suspend', fault: 'none', hastened: true },
  { name: 'pytorch-delete', kind: 'PyTorchJob', by: 'delete-collection', fault: 'kernel' },
  { name: 'pytorch-delete-bare', kind: 'PyTorchJob', by: 'delete-collection', fault: 'none' },
  { name: 'job-suspend', kind: 'Job', by: 'suspend', fault: 'kernel' },
  { name: 'job-suspend-bare', kind: 'Job', by: 'suspend', fault: 'none' },
];

/** Nodes have 8 GPUs; up to 16 pods have a node each, more are packed. */
const gpusOf = (pods: number): number => (pods <= 16 ? 8 : 1);

/** Nodes that this many pods fill. */
export const nodesFor = (pods: number): number => Math.ceil((pods * gpusOf(pods)) / 8);

export const variantNames = (): readonly string[] => all.map(({ name }) => name);

/**
 * A job of this many pods. For delete-collection it has a queue's label: then `suspend` belongs to the queue, and kcover, whose settings are the same
 * for all variants, uses the other method. No queue system runs here.
 */
export function manifestOf(variant: Variant, name: string, pods: number): JobManifest {
  const labels = {
    ...(variant.fault !== 'none' && { 'kcover.io/cascading-recovery': 'true' }),
    ...(variant.by === 'delete-collection' && { 'kueue.x-k8s.io/queue-name': 'bench' }),
  };
  const common = { name, namespace, labels, gpus: gpusOf(pods) };
  return variant.kind === 'Job' ? batchJob({ ...common, pods }) : pytorchJob({ ...common, workers: pods - 1 });
}

export const namespace = 'bench';
