/** What the Job of a hook and its pod say. Pure. */

import type { V1ContainerStatus, V1Job, V1Pod } from '@kubernetes/client-node';
import type { HookRequest, HookResult } from '../../contract/remedy/remedy.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { failed, messageBytes, resultOfExit, unknown } from './answer.ts';

/** The result; undefined while it goes on. `waitsFor`: why the pod had not started when it was last seen. */
export function resultOfJob(
  job: V1Job,
  pods: readonly V1Pod[],
  request: HookRequest,
  waitsFor: string | undefined,
): HookResult | undefined {
  const theirs = pods.filter(({ metadata }) =>
    metadata?.ownerReferences?.some(({ controller, uid }) => controller === true && uid === job.metadata?.uid),
  );
  const elsewhere = theirs.find(({ spec }) => spec?.nodeName !== undefined && spec.nodeName !== request.node);
  if (elsewhere) return failed(`its pod ran on ${elsewhere.spec?.nodeName}, not on ${request.node}`);
  for (const pod of theirs) {
    const result = resultOfPod(pod, request);
    if (result) return result;
  }
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Failed' || type === 'Complete') && status === 'True',
  );
  if (!end) return undefined;
  const because = foreignText([end.reason, end.message].filter(Boolean).join(': ') || end.type, 300);
  const { failed: ended = 0, succeeded = 0 } = job.status ?? {};
  if (ended + succeeded === 0) return failed(`its Job could create no pod: ${because}`);
  return waitsFor === undefined
    ? unknown(`its Job ended without a result of its pod: ${because}`)
    : failed(`its pod never started: ${waitsFor}`);
}

function resultOfPod({ spec, status }: V1Pod, request: HookRequest): HookResult | undefined {
  const ended = statusOf(status?.containerStatuses, spec?.containers[0]?.name)?.state?.terminated;
  if (ended && hasRun(ended)) {
    // A file longer than the kubelet allows is cut, and then no JSON any more.
    return resultOfExit(ended.exitCode, (ended.message ?? '').slice(0, messageBytes), request);
  }
  if (status?.phase !== 'Failed') return undefined;
  const before = status.initContainerStatuses?.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  if (before) {
    const { exitCode, message = '' } = before.state?.terminated ?? {};
    return unknown(
      foreignText(`its init container ${before.name} ended with exit code ${exitCode} ${message}`.trim(), 500),
    );
  }
  const because = foreignText([status.reason, status.message].filter(Boolean).join(': ') || 'no reason is given', 300);
  const started = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].some(
    ({ state }) => state?.terminated || state?.running,
  );
  return started ? unknown(`its pod failed: ${because}`) : failed(`its pod never started: ${because}`);
}

/** The kubelet makes up an end for a container that it never started, or has lost. */
const hasRun = ({ reason }: { readonly reason?: string }): boolean => reason !== 'ContainerStatusUnknown';

const statusOf = (
  statuses: readonly V1ContainerStatus[] | undefined,
  name: string | undefined,
): V1ContainerStatus | undefined => statuses?.find((each) => each.name === name);

/** Why no container of the pod has started; undefined once one has. */
export function whyNotStarted({ status }: V1Pod): string | undefined {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  if (containers.some(({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated))
    return undefined;
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const waiting = containers.find(({ state }) => state?.waiting)?.state?.waiting;
  const said = scheduled?.status === 'False' ? scheduled : waiting;
  return foreignText(
    [said?.reason, said?.message].filter(Boolean).join(': ') || (status?.phase ?? 'just created'),
    300,
  );
}
