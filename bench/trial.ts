/** One trial: a new job, one fault (or direct requests), and the observed times. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { clusterWorkflowId, jobWorkflowId, nodeWorkflowId, quarantineTaintKey } from '../contract/ids.ts';
import { updates } from '../contract/wire/messages.ts';
import { breakGpu, failContainer } from '../testbed/failures.ts';
import { awaitRunning, createJob, placeOf, type RunningJob } from '../testbed/jobs.ts';
import { until } from '../testbed/until.ts';
import { now } from './clock.ts';
import { historyLength, readHistory, type HistoryStep } from './histories.ts';
import { type Healthy, isWatched, type BenchStage } from './stage.ts';
import { manifestOf, type Variant } from './variants.ts';

/** Times in ms since the epoch, as seen by the observer unless stated otherwise. */
export interface Trial {
  readonly variant: string;
  /** Time of the written line, or of the request that fails the container; without kcover, of the first request. */
  readonly fault: number;
  /** Without kcover: when the stop itself was sent. */
  readonly stopBegan?: number;
  /** Time of the first signal in the history of the node's workflow (kernel) or of the job's (pod). */
  readonly accepted?: number;
  readonly tainted?: number;
  readonly firstDeleted: number;
  readonly newRunning: number;
  /** Only with kcover. */
  readonly histories?: {
    readonly atStart: number;
    readonly job: number;
    readonly recovery: number;
    readonly node: number;
    readonly cluster: number;
  };
  readonly steps?: {
    readonly node: readonly HistoryStep[];
    readonly job: readonly HistoryStep[];
    readonly recovery: readonly HistoryStep[];
  };
  /** The audit log is counted between these times. */
  readonly window?: { readonly from: number; readonly to: number };
  /** Node's signal to the start of the recovery, ms. */
  readonly acceptedToRecovery?: number;
}

/**
 * The training operator's client may send 30 requests at once and 20 a second after that, and creating the job used them up.
 * With a job that has trained for a while the operator has its full quota again.
 */
export const restMs = 2000;

export const kernelLine = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';

export async function runTrial(
  stage: BenchStage,
  healthy: Healthy,
  variant: Variant,
  number: number,
  pods: number,
): Promise<Trial> {
  const { cluster } = stage;
  const job = await createJob(cluster.api, manifestOf(variant, `${variant.name}-${number}`, pods));
  const running = await awaitRunning(cluster.api, job, { withinMs: 180_000 });
  const failingPod = running.findLast((pod) => pod.spec?.nodeName !== healthy.node);
  const node = cluster.nodes.find(({ name }) => name === failingPod?.spec?.nodeName);
  if (failingPod === undefined || node === undefined)
    throw new Error(`${job.name} has no pod on a node that may break`);
  await sleep(restMs);
  const trial =
    variant.fault === 'none'
      ? await byHand(stage, variant, job, node.name)
      : await byKcover(stage, variant, job, failingPod, node);
  await removeJob(stage, job);
  return trial;
}

async function byHand(stage: BenchStage, variant: Variant, job: RunningJob, node: string): Promise<Trial> {
  const { began, tainted, stopBegan, firstDeleted, newRunning } = await stage.direct.restart(
    stage.observer,
    job,
    node,
    variant,
  );
  await stage.direct.untaint(stage.observer, node);
  return { variant: variant.name, fault: began, stopBegan, tainted, firstDeleted, newRunning };
}

async function byKcover(
  stage: BenchStage,
  variant: Variant,
  job: RunningJob,
  failingPod: Parameters<typeof failContainer>[1],
  node: BenchStage['cluster']['nodes'][number],
): Promise<Trial> {
  const { observer, client, cluster } = stage;
  await isWatched(client, job);
  const [atStart, clusterBefore] = [
    await historyLength(client, jobWorkflowId(job)),
    await historyLength(client, clusterWorkflowId),
  ];
  const isKernel = variant.fault === 'kernel';
  const seen = observer.restartOf(job, new Set(observer.podsOf(job).map((pod) => pod.metadata?.uid ?? '')));
  const seenTainted = isKernel ? observer.tainted(node.name, quarantineTaintKey) : Promise.resolve(undefined);

  const fault = now();
  await (isKernel
    ? breakGpu(node, kernelLine)
    : failContainer(cluster.api, failingPod, { exitCode: 1, restart: true }));
  const [tainted, firstDeleted, newRunning] = await Promise.all([seenTainted, seen.firstDeleted, seen.newRunning]);

  const { last } = await isWatched(client, job, true);
  if (last === undefined || last.outcome !== 'restarted')
    throw new Error(`${job.name} ended as ${last?.outcome}: ${last?.because}`);
  const to = now();
  const recovery = await readHistory(client, last.incident);
  const ofJob = await readHistory(client, jobWorkflowId(job));
  const ofNode = isKernel ? await readHistory(client, nodeWorkflowId(node.name)) : undefined;
  const clusterEvents = (await historyLength(client, clusterWorkflowId)) - clusterBefore;
  if (isKernel) await release(stage, node.name);
  const accepted = (ofNode ?? ofJob).firstSignal;
  return {
    variant: variant.name,
    fault,
    firstDeleted,
    newRunning,
    histories: {
      atStart,
      job: ofJob.events - atStart,
      recovery: recovery.events,
      node: ofNode?.events ?? 0,
      cluster: clusterEvents,
    },
    steps: { node: ofNode?.steps ?? [], job: ofJob.steps, recovery: recovery.steps },
    window: { from: fault, to },
    ...(tainted !== undefined && { tainted }),
    ...(accepted !== undefined && { accepted, acceptedToRecovery: recovery.started - accepted }),
  };
}

/** Releases the node, so that the next trial has all nodes and the node's workflow starts anew. */
export async function release({ client, observer }: BenchStage, node: string): Promise<void> {
  const handle = client.workflow.getHandle(nodeWorkflowId(node));
  await handle.executeUpdate(updates.release, { args: [{ by: 'bench', reason: 'next trial' }] });
  await observer.tainted(node, quarantineTaintKey, false);
  await closed(client, nodeWorkflowId(node));
}

export async function removeJob({ cluster, client, observer }: BenchStage, job: RunningJob): Promise<void> {
  await cluster.api.custom.deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' });
  await until(`${job.name} gone`, 120_000, () => {
    const left = observer.podsOf(job).length;
    return Promise.resolve(left === 0 ? { found: true } : { missing: `${left} pods are left` });
  });
  await closed(client, jobWorkflowId(job));
}

/** Waits until the workflow does not run (or never did). */
function closed(client: Client, workflowId: string): Promise<true> {
  return until(`${workflowId} closed`, 120_000, async () => {
    const status = await client.workflow
      .getHandle(workflowId)
      .describe()
      .then(
        ({ status }) => status.name,
        () => 'NONE',
      );
    return status === 'RUNNING' ? { missing: 'it still runs' } : { found: true };
  });
}
