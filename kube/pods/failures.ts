/** Faults derived from a pod's status. Pure. */

import type { V1ContainerStateTerminated, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { type Fault, faultLimits } from '../../contract/faults/faults.ts';
import { preflightContainer } from '../../contract/preflight/preflight.ts';
import type { JobKindEntry } from '../jobs/kinds/index.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { isPreflightPod } from './preflight-pods.ts';
import { timeOf, timeOrEpoch } from '../client/time.ts';

/**
 * Every failure that the status still shows; the same exit has the same id in `state` and `lastState`.
 * Pods that are being deleted or have succeeded have no failures. A preflight container that finds a problem exits with an error, which its
 * report describes: that is no failure. One that was killed, or could not run, is.
 */
export function podFailures(pod: V1Pod, { isRank }: Pick<JobKindEntry, 'isRank'>): Fault[] {
  const { status } = pod;
  if (pod.metadata?.deletionTimestamp !== undefined || status?.phase === 'Succeeded') return [];
  const failed = status?.phase === 'Failed';
  const deaths = [
    ...(status?.initContainerStatuses ?? [])
      .filter(
        (container) =>
          isPreflight(pod, container.name) || (failed && !isSidecar(pod, container.name) && hasFailed(container)),
      )
      .flatMap((container) => containerDeaths(pod, container, true)),
    ...(status?.containerStatuses ?? [])
      .filter(({ name }) => failed || isRank(pod, name))
      .flatMap((container) => containerDeaths(pod, container, false)),
  ];
  const others = [...disruption(pod), ...eviction(pod)];
  const faults = [...deaths, ...others];
  const reported =
    status?.reason === undefined &&
    (status?.initContainerStatuses ?? []).some((container) => endsOf(container).some(isReport(pod, container)));
  const unexplained = status?.phase === 'Failed' && faults.length === 0 && !reported;
  return unique(unexplained ? [failedPhase(pod)] : faults);
}

/** Exit codes of containers that SIGKILL or SIGTERM ended. */
const killed: readonly number[] = [137, 143];

/**
 * Whether the kubelet may still report another reason for the end of the pod. A kubelet that restarts on a node with too few resources rejects its
 * running pods: it kills their containers first, and sets the reason Evicted two seconds later. Until then the pod is Running, with a container
 * that was ended by a signal and is not restarted.
 */
export const isUnexplained = ({ status }: V1Pod): boolean =>
  status?.phase === 'Running' &&
  (status.containerStatuses ?? []).some(
    ({ state }) => killed.includes(state?.terminated?.exitCode ?? 0) && state?.terminated?.reason === 'Error',
  );

const unique = (faults: readonly Fault[]): Fault[] => [...new Map(faults.map((fault) => [fault.id, fault])).values()];

/**
 * The kubelet restarts a failed init container until it succeeds, so the rank is lost only if the pod fails with it. `init-pytorch`, which the
 * training operator adds to the workers of a PyTorchJob, fails for as long as the master does not run.
 */
const isPreflight = (pod: V1Pod, name: string): boolean => name === preflightContainer && isPreflightPod(pod);

const hasFailed = ({ state }: V1ContainerStatus): boolean => (state?.terminated?.exitCode ?? 0) !== 0;

/** A native sidecar is restarted whatever its exit code, and never decides about the pod. */
const isSidecar = ({ spec }: V1Pod, name: string): boolean =>
  (spec?.initContainers ?? []).some((container) => container.name === name && container.restartPolicy === 'Always');

function containerDeaths(pod: V1Pod, container: V1ContainerStatus, init: boolean): Fault[] {
  const reports = init ? isReport(pod, container) : () => false;
  return endsOf(container)
    .filter((end) => isDeath(pod, end))
    .filter((end) => !reports(end))
    .map((end) => death(pod, container, end, init));
}

const endsOf = (container: V1ContainerStatus): V1ContainerStateTerminated[] =>
  [container.lastState?.terminated, container.state?.terminated].filter((end) => end !== undefined && end !== null);

/** Exit code 0 is a success, also if one of its processes was OOM-killed; but with restart policy Always the container is started again. */
const isDeath = ({ spec }: V1Pod, { exitCode, reason }: V1ContainerStateTerminated): boolean =>
  exitCode !== 0 || (reason === 'OOMKilled' && spec?.restartPolicy === 'Always');

/** Shells and runtimes use higher codes for a command that could not run, was not found, or was ended by a signal. */
const lastOwnCode = 125;

/** Exits that a report describes: a container that was killed or could not start has written none. */
const isReport =
  (pod: V1Pod, { name }: V1ContainerStatus) =>
  ({ exitCode, signal, reason = 'Error' }: V1ContainerStateTerminated): boolean =>
    isPreflight(pod, name) &&
    exitCode >= 1 &&
    exitCode <= lastOwnCode &&
    !signal &&
    deathCode(reason, true) === 'pod/init-exit';

function death(pod: V1Pod, container: V1ContainerStatus, end: V1ContainerStateTerminated, init: boolean): Fault {
  const reason = end.reason ?? 'Error';
  const signal = end.signal ? ` (signal ${end.signal})` : '';
  const what = `${init ? 'init container' : 'container'} ${container.name} of ${pod.metadata?.name} ended with exit code ${end.exitCode}${signal}: ${reason}`;
  return faultOf(pod, {
    // A container that never started has no id, so its end and name are used.
    id: end.containerID || `${container.name}@${timeOrEpoch(end.finishedAt)}`,
    code: deathCode(reason, init),
    message: end.message ? `${what}: ${end.message}` : what,
    at: timeOf(end.finishedAt),
  });
}

function deathCode(reason: string, init: boolean): string {
  if (reason === 'OOMKilled') return 'pod/oom-killed';
  if (reason === 'ContainerCannotRun' || reason === 'StartError') return 'pod/cannot-run';
  return init ? 'pod/init-exit' : 'pod/exit';
}

/** The condition announces the end of the pod by preemption, a taint, an eviction or a lost node. */
function disruption(pod: V1Pod): Fault[] {
  const condition = pod.status?.conditions?.find((each) => each.type === 'DisruptionTarget' && each.status === 'True');
  if (!condition) return [];
  const reason = condition.reason ?? 'unknown';
  const message = `${pod.metadata?.name} is a target of disruption: ${reason}${condition.message ? `: ${condition.message}` : ''}`;
  return [
    faultOf(pod, {
      id: `DisruptionTarget-${reason}`,
      code: 'pod/disruption',
      message,
      at: timeOf(condition.lastTransitionTime),
    }),
  ];
}

function eviction(pod: V1Pod): Fault[] {
  if (pod.status?.reason !== 'Evicted') return [];
  const message = `${pod.metadata?.name} was evicted${pod.status.message ? `: ${pod.status.message}` : ''}`;
  return [faultOf(pod, { id: 'Evicted', code: 'pod/evicted', message, at: lastChange(pod) })];
}

function failedPhase(pod: V1Pod): Fault {
  const reason = pod.status?.reason ?? 'Failed';
  const message = `${pod.metadata?.name} failed: ${reason}${pod.status?.message ? `: ${pod.status.message}` : ''}`;
  return faultOf(pod, { id: reason, code: 'pod/failed', message, at: lastChange(pod) });
}

/** The newest transition: the status itself has no time. */
function lastChange(pod: V1Pod): string | undefined {
  return (pod.status?.conditions ?? [])
    .flatMap((condition) => timeOf(condition.lastTransitionTime) ?? [])
    .toSorted()
    .at(-1);
}

function faultOf(
  pod: V1Pod,
  { id, code, message, at }: { id: string; code: string; message: string; at: string | undefined },
): Fault {
  const uid = pod.metadata?.uid ?? '';
  const createdAt = timeOrEpoch(pod.metadata?.creationTimestamp);
  return {
    id: `pod/${uid}/${id}`.slice(0, faultLimits.id),
    source: 'pod',
    code,
    message: foreignText(message, faultLimits.message),
    seenAt: at ?? createdAt,
    ...(pod.spec?.nodeName && { node: pod.spec.nodeName }),
    pod: { name: pod.metadata?.name ?? '', uid, createdAt },
  };
}
