import { randomUUID } from 'node:crypto';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { merge, strategicMerge, type Api } from './api.ts';
import { bootIdFile, kernelLog, type SimulatedNode } from './nodes.ts';
import { kubeletLabel } from './servers/kwok.ts';
import { until } from './until.ts';

/**
 * Writes a line to the node's kernel log. A bare text becomes a /dev/kmsg record (`priority,sequence,microseconds,flags;text`),
 * a text that is a record already is written as it is, and form `bare` writes only the text.
 */
export async function breakGpu(node: SimulatedNode, text: string, form: 'record' | 'bare' = 'record'): Promise<void> {
  const file = join(node.hostRoot, kernelLog);
  const isRecord = /^\d+,\d+,\d+,/.test(text);
  const sequence = (await readFile(file, 'utf8')).split('\n').length - 1;
  const line = isRecord || form === 'bare' ? text : `3,${sequence},${Math.round(uptime() * 1e6)},-;${text}`;
  await appendFile(file, `${line}\n`);
}

/** Simulates a reboot: a new boot id, on disk and in the Node's status, and an empty kernel log. */
export async function reboot(api: Api, node: SimulatedNode): Promise<void> {
  const bootID = randomUUID();
  // In this order: an agent that finds the log empty reads the boot id to learn why.
  await writeFile(join(node.hostRoot, bootIdFile), `${bootID}\n`);
  await writeFile(join(node.hostRoot, kernelLog), '');
  await api.core.patchNodeStatus({ name: node.name, body: { status: { nodeInfo: { bootID } } } }, strategicMerge);
}

/** The node's kubelet stops (or returns): no lease, no pod starts or ends. Its Node is NotReady about 50 s later. */
export async function setKubelet(api: Api, node: SimulatedNode, state: 'running' | 'dead'): Promise<void> {
  const since = Date.now();
  await api.core.patchNode({ name: node.name, body: { metadata: { labels: { [kubeletLabel.key]: state } } } }, merge);
  if (state === 'dead') return;
  await until(`lease of ${node.name} renewed`, 60_000, async () => {
    const { spec } = await api.coordination.readNamespacedLease({ name: node.name, namespace: 'kube-node-lease' });
    return new Date(spec?.renewTime ?? 0).getTime() >= since
      ? { found: true }
      : { missing: `last renewed ${String(spec?.renewTime)}` };
  });
  // kwok does not process the pods of a node that returns until they change.
  const { items } = await api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node.name}` });
  const body = { metadata: { annotations: { 'testbed.kcover.io/kubelet-back': new Date(since).toISOString() } } };
  await Promise.all(
    items.map(({ metadata }) =>
      api.core.patchNamespacedPod({ name: metadata?.name ?? '', namespace: metadata?.namespace ?? '', body }, merge),
    ),
  );
}

/** Writes the condition that the node controller writes about 50 s after a kubelet went silent (`Unknown`), or that a returned kubelet writes (`True`). */
export async function setReady(api: Api, node: SimulatedNode, status: 'True' | 'Unknown'): Promise<void> {
  const words =
    status === 'True'
      ? { reason: 'KubeletReady' }
      : { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
  const now = new Date();
  const condition = { type: 'Ready', status, lastTransitionTime: now, lastHeartbeatTime: now, ...words };
  await api.core.patchNodeStatus({ name: node.name, body: { status: { conditions: [condition] } } }, strategicMerge);
}

export interface ContainerFailure {
  readonly exitCode: number;
  readonly reason?: string;
  /** Name of the container; the first by default. */
  readonly container?: string;
  /** The kubelet restarts it in the same pod, as with restart policy OnFailure. */
  readonly restart?: boolean;
}

/** One container of the pod ends as it would under a kubelet: the pod fails, or its container is restarted. */
export async function failContainer(
  api: Api,
  pod: V1Pod,
  { exitCode, reason = 'Error', container, restart = false }: ContainerFailure,
): Promise<void> {
  await edit(api, pod, (current) => {
    const statuses = current.status?.containerStatuses ?? [];
    const name = container ?? statuses[0]?.name;
    if (!statuses.some((status) => status.name === name))
      throw new Error(`pod ${current.metadata?.name} has no running container ${name ?? ''}`);
    const containerStatuses = statuses.map((status) => {
      if (status.name !== name) return restart ? status : ended(status, { exitCode: 137, reason: 'Error' });
      return restart ? restarted(current, status, { exitCode, reason }) : ended(status, { exitCode, reason });
    });
    return restart ? { containerStatuses } : { phase: 'Failed', containerStatuses, conditions: notReady('PodFailed') };
  });
}

/** Every container exits with 0. */
export async function succeed(api: Api, pod: V1Pod): Promise<void> {
  await edit(api, pod, ({ status }) => ({
    phase: 'Succeeded',
    containerStatuses: (status?.containerStatuses ?? []).map((container) =>
      ended(container, { exitCode: 0, reason: 'Completed' }),
    ),
    conditions: notReady('PodCompleted'),
  }));
}

/** Evicts through the eviction API, as a drain does; or as a kubelet under pressure does, which leaves a failed pod behind. */
export async function evict(api: Api, pod: V1Pod, by: 'api' | 'kubelet' = 'api'): Promise<void> {
  const { name = '', namespace = 'default', uid = '' } = pod.metadata ?? {};
  if (by === 'api') {
    await api.core.createNamespacedPodEviction({
      name,
      namespace,
      body: { metadata: { name, namespace }, deleteOptions: { preconditions: { uid } } },
    });
    return;
  }
  await edit(api, pod, ({ status }) => ({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory.',
    containerStatuses: (status?.containerStatuses ?? []).map((container) =>
      ended(container, { exitCode: 137, reason: 'Error' }),
    ),
    conditions: [
      ...notReady('PodFailed'),
      { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', lastTransitionTime: new Date() },
    ],
  }));
}

/** Reads the pod, patches its status; the server refuses a pod of the same name with another UID. */
async function edit(api: Api, pod: V1Pod, change: (current: V1Pod) => object): Promise<void> {
  const { name = '', namespace = 'default', uid } = pod.metadata ?? {};
  const current = await api.core.readNamespacedPod({ name, namespace });
  await api.core.patchNamespacedPodStatus(
    { name, namespace, body: { metadata: { uid }, status: change(current) } },
    strategicMerge,
  );
}

interface Exit {
  readonly exitCode: number;
  readonly reason: string;
}

function ended(status: V1ContainerStatus, { exitCode, reason }: Exit): V1ContainerStatus {
  return Object.assign({}, status, {
    ready: false,
    started: false,
    state: { terminated: terminated(status, { exitCode, reason }) },
  });
}

function restarted(pod: V1Pod, status: V1ContainerStatus, exit: Exit): V1ContainerStatus {
  const restartCount = status.restartCount + 1;
  const containerID = `kwok://${pod.metadata?.uid}/${status.name}/${restartCount}`;
  const states = { lastState: { terminated: terminated(status, exit) }, state: { running: { startedAt: new Date() } } };
  return Object.assign({}, status, { ready: true, started: true, restartCount, containerID, ...states });
}

function terminated(
  status: V1ContainerStatus,
  { exitCode, reason }: Exit,
): NonNullable<NonNullable<V1ContainerStatus['state']>['terminated']> {
  const startedAt = status.state?.running?.startedAt;
  return {
    exitCode,
    reason,
    finishedAt: new Date(),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(status.containerID === undefined ? {} : { containerID: status.containerID }),
  };
}

function notReady(reason: string): { type: string; status: string; reason: string; lastTransitionTime: Date }[] {
  return ['Ready', 'ContainersReady'].map((type) => ({
    type,
    status: 'False',
    reason,
    lastTransitionTime: new Date(),
  }));
}
