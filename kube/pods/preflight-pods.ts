/** Pods that test their node before they train: workload, rank, and time of the test. */

import type { V1ContainerState, V1ContainerStateTerminated, V1Pod } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import { preflightContainer, preflightLimits, type Workload } from '../../contract/preflight/preflight.ts';
import type { Amounts } from '../../contract/recovery/placement.ts';
import type { Kube } from '../client/connection.ts';
import { acceleratorsIn } from '../nodes/nodes.ts';
import { memberOf, rankOf } from './ranks.ts';
import { requestsOf } from './requests.ts';
import { podsPath } from './pods.ts';
import { listObjects } from '../client/requests.ts';
import { timeOf, timeOrEpoch } from '../client/time.ts';

/** RFC 3339, whole seconds, the node's clock. No end: it was not observed to end. */
export interface TestTime {
  readonly from: string;
  readonly until?: string;
}

export interface PreflightPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Absent while it is not scheduled. */
  readonly node?: string;
  readonly workload: Workload;
  readonly rank: number;
  /** When the kubelet admitted it, the node's clock, whole seconds: it holds its accelerators from then on. */
  readonly startedAt?: string;
  /** When its test ran, as far as the status shows: the last run and the one before. */
  readonly tests: readonly TestTime[];
  /** Whether its test runs. */
  readonly testing: boolean;
  /** Exit code of its test, once it has ended. */
  readonly ended?: number;
  /** Whether it is being deleted. */
  readonly terminating: boolean;
  /** Accelerators that it requests, by resource. */
  readonly accelerators: Amounts;
  /** Whether it has ended for good and released its accelerators. */
  readonly over: boolean;
}

/** Selects them by label; only the spec shows which have the test container. */
export const preflightSelector = `${labels.preflight}=true`;

/** Whether the pod tests its node: it is labelled so, and has the container that does it. */
export const isPreflightPod = ({ metadata, spec }: V1Pod): boolean =>
  metadata?.labels?.[labels.preflight] === 'true' &&
  (spec?.initContainers ?? []).some(({ name }) => name === preflightContainer);

/**
 * The pod for the collection of reports. `led`: whether its job has a master (`isMaster`); undefined while the job is not known.
 * Returns undefined for other pods, for those without a rank, and while the job that they claim is not known: any pod may claim one.
 */
export function preflightPodOf(pod: V1Pod, led: boolean | undefined): PreflightPod | undefined {
  const member = isPreflightPod(pod) ? memberOf(pod) : undefined;
  // Jobs of unknown kinds have no master: all kinds with one are known.
  if (member?.workload.job && led === undefined) return undefined;
  const rank = member && rankOf(member.place, led ?? false);
  if (!member || rank === undefined || rank >= preflightLimits.size) return undefined;
  const { metadata, spec } = pod;
  const status = pod.status?.initContainerStatuses?.find(({ name }) => name === preflightContainer);
  const startedAt = timeOf(pod.status?.startTime);
  const ended = status?.state?.terminated?.exitCode;
  return {
    uid: metadata?.uid ?? '',
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? '',
    createdAt: timeOrEpoch(metadata?.creationTimestamp),
    ...(spec?.nodeName && { node: spec.nodeName }),
    workload: member.workload,
    rank,
    ...(startedAt !== undefined && { startedAt }),
    tests: [...testsOf(status?.lastState), ...testsOf(status?.state)],
    testing: status?.state?.running !== undefined,
    ...(ended !== undefined && { ended }),
    terminating: metadata?.deletionTimestamp !== undefined,
    accelerators: acceleratorsIn(requestsOf(spec)),
    over: pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed',
  };
}

/** The workload of the pod; undefined when it does not test its node, or its workload has no ranks. */
export const workloadOf = (pod: V1Pod): Workload | undefined =>
  isPreflightPod(pod) ? memberOf(pod)?.workload : undefined;

/** Whether any pod of the workload is left. */
export async function hasPreflightPods(kube: Kube, workload: Workload): Promise<boolean> {
  const { namespace, name, uid } = workload;
  const pods = await listObjects<V1Pod>(
    kube,
    podsPath(namespace),
    { labelSelector: preflightSelector },
    `list the preflight pods of ${name} in ${namespace}`,
  );
  return pods.some((pod) => {
    const theirs = workloadOf(pod);
    return theirs?.uid === uid && theirs.name === name;
  });
}

function testsOf(state: V1ContainerState | undefined): TestTime[] {
  if (state?.running) return timesOf(state.running.startedAt, undefined);
  return state?.terminated ? timesOf(state.terminated.startedAt, state.terminated) : [];
}

/** A container that could not start has no start time, or one in 1970. */
function timesOf(startedAt: Date | undefined, end: V1ContainerStateTerminated | undefined): TestTime[] {
  const from = timeOf(startedAt);
  if (from === undefined || Date.parse(from) === 0) return [];
  const until = timeOf(end?.finishedAt);
  return [{ from, ...(until !== undefined && { until }) }];
}
