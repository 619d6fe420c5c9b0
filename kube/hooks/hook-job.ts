/** The Job of a hook, made from its template. Pure. */

import type { V1Container, V1Job, V1PodSpec, V1Toleration } from '@kubernetes/client-node';
import { hookMarks } from '../../contract/ids.ts';
import type { HookRequest } from '../../contract/remedy/remedy.ts';
import type { JobTemplate } from '../../contract/remedy/templates.schema.ts';
import { hookEnvironment } from './environment.ts';
import { filled } from './template.ts';

/** Results are kept this long where the template says nothing, s: a later try of the activity must find them. */
const keptS = 86_400;

/** The Job ends itself this long before kcover stops waiting for it, so that its end is seen, ms. */
const endingMs = 5000;

/** As a DaemonSet tolerates them: the node may be broken in any of these ways. */
const nodeTaints = [
  'not-ready',
  'unreachable',
  'unschedulable',
  'memory-pressure',
  'disk-pressure',
  'pid-pressure',
  'network-unavailable',
].map((name) => `node.kubernetes.io/${name}`);

export interface HookJobOptions {
  readonly namespace: string;
  /** Key of the quarantine taint. */
  readonly taintKey: string;
  /** Time that is left for the operation, ms. */
  readonly leftMs: number;
}

/**
 * One pod on this node, which the scheduler places, so that it accounts for GPUs; it runs once. Its name makes a repeated create harmless: the Job
 * outlives the operation.
 */
export function hookJob(
  template: JobTemplate,
  request: HookRequest,
  { namespace, taintKey, leftMs }: HookJobOptions,
): V1Job {
  const { metadata, spec } = filled(template, request);
  const deadlineS = Math.max(1, Math.floor((leftMs - endingMs) / 1000));
  const pod = spec.template.spec;
  const env = (container: (typeof pod.containers)[number]): V1Container => ({
    ...container,
    env: [...container.env.filter(({ name }) => !name.startsWith('KCOVER_')), ...variables(request)],
  });
  const podSpec: V1PodSpec = {
    ...pod,
    containers: pod.containers.map(env),
    ...(pod.initContainers && { initContainers: pod.initContainers.map(env) }),
    tolerations: [...(pod.tolerations as V1Toleration[]), ...[taintKey, ...nodeTaints].map(tolerate)],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [request.node] }] }],
        },
      },
    },
  };
  return {
    apiVersion: template.apiVersion,
    kind: template.kind,
    metadata: { ...marked(metadata, request), name: request.operation, namespace },
    spec: {
      activeDeadlineSeconds: Math.min(spec.activeDeadlineSeconds ?? deadlineS, deadlineS),
      ttlSecondsAfterFinished: Math.max(spec.ttlSecondsAfterFinished ?? keptS, Math.ceil(request.timeoutMs / 1000)),
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      template: { metadata: marked(spec.template.metadata, request), spec: podSpec },
    },
  };
}

const tolerate = (key: string): V1Toleration => ({ key, operator: 'Exists' });

const variables = (request: HookRequest) =>
  Object.entries(hookEnvironment(request)).map(([name, value]) => ({ name, value }));

type Metadata = JobTemplate['metadata'];

/** The metadata with the marks of the operation. */
export const marked = ({ labels, annotations }: Metadata, { operation, node, incident }: HookRequest): Metadata => ({
  labels: { ...labels, [hookMarks.operation]: operation },
  annotations: { ...annotations, [hookMarks.node]: node, [hookMarks.incident]: incident },
});
