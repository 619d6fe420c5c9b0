/** How many pods of a new attempt are ready. Pure. */

import type { V1Pod } from '@kubernetes/client-node';
import type { AttemptPod, JobView } from '../../contract/job/jobs.ts';
import { type AwaitRequest, type AwaitResult, successAfterStop } from '../../contract/recovery/recovery.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { attemptPod, belongsTo, byRank, isTerminating } from '../pods/pods.ts';
import { timeOrEpoch } from '../client/time.ts';

export type AttemptProgress =
  | Extract<AwaitResult, { kind: 'ended' }>
  /** When its oldest and its newest pod were created: after a restart of single pods they are far apart. */
  | {
      readonly kind: 'ready';
      readonly pods: readonly AttemptPod[];
      readonly startedAt: string;
      readonly wholeSince: string;
    }
  | { readonly kind: 'waiting'; readonly because: string; readonly misplaced: readonly AttemptPod[] };

export interface ObservedAttempt {
  /** Absent when the job, or this UID of it, is gone. */
  readonly job: JobView | undefined;
  readonly pods: readonly V1Pod[];
  /** UIDs of stopped pods. */
  readonly old: ReadonlySet<string>;
  /** How they were stopped. */
  readonly stoppedBy?: AwaitRequest['stoppedBy'];
  /** UIDs that the stop left running: only another stop may move them. */
  readonly remaining?: ReadonlySet<string>;
  readonly quarantined: ReadonlySet<string>;
}

/** The attempt is complete: the expected number of pods, each new and ready, none terminating, none on a quarantined node. */
export function attemptProgress({
  job,
  pods,
  old,
  stoppedBy,
  remaining,
  quarantined,
}: ObservedAttempt): AttemptProgress {
  const end = whyEnded(job, stoppedBy);
  if (end || !job) return end ?? { kind: 'ended', outcome: 'cancelled', because: 'the job is gone' };
  const fresh = pods.filter((pod) => belongsTo(job.ref, pod) && !old.has(pod.metadata?.uid ?? ''));
  const misplaced = fresh.filter((pod) => !isTerminating(pod) && quarantined.has(pod.spec?.nodeName ?? ''));
  const because = whyNotReady(job, pods, fresh, misplaced);
  if (because !== undefined)
    return { kind: 'waiting', because, misplaced: misplaced.map(attemptPod).filter(({ uid }) => !remaining?.has(uid)) };
  const created = fresh.map((pod) => timeOrEpoch(pod.metadata?.creationTimestamp)).toSorted();
  return {
    kind: 'ready',
    pods: inOrder(fresh).map(attemptPod),
    startedAt: created[0] ?? '',
    wholeSince: created.at(-1) ?? '',
  };
}

/** Why the wait is over; undefined while it is not. */
export function whyEnded(
  job: JobView | undefined,
  stoppedBy?: AwaitRequest['stoppedBy'],
): Extract<AwaitResult, { kind: 'ended' }> | undefined {
  const ended = (outcome: 'cancelled' | 'failed', because: string) => ({ kind: 'ended', outcome, because }) as const;
  if (!job) return ended('cancelled', 'the job is gone');
  if (job.finished?.as === 'failed')
    return ended('failed', `its own controller failed the job: ${job.finished.because}`);
  if (job.finished) return { kind: 'ended', ...successAfterStop(job.finished.because, stoppedBy) };
  if (!job.optedIn) return ended('cancelled', 'the job was opted out');
  if (job.suspension?.by === 'owner') return ended('cancelled', 'the job is suspended by its owner');
  return undefined;
}

function whyNotReady(
  job: JobView,
  pods: readonly V1Pod[],
  fresh: readonly V1Pod[],
  misplaced: readonly V1Pod[],
): string | undefined {
  const [wrong] = misplaced;
  if (wrong) return `${wrong.metadata?.name} is on quarantined node ${wrong.spec?.nodeName}`;
  const ready = fresh.filter((pod) => !isTerminating(pod) && isReady(pod));
  const going = pods.find((pod) => belongsTo(job.ref, pod) && isTerminating(pod));
  const count = `${ready.length} of ${job.podsExpected} pods ready`;
  const [pending] = inOrder(fresh.filter((pod) => !isTerminating(pod) && !isReady(pod)));
  if (pending) return `${whyPending(pending)} (${count})`;
  if (going) return `${going.metadata?.name} is still terminating (${count})`;
  if (job.suspension) return `suspended by ${job.suspension.by} (${count})`;
  return ready.length < job.podsExpected ? count : undefined;
}

const inOrder = (pods: readonly V1Pod[]): V1Pod[] =>
  pods.toSorted((a, b) => byRank(a.metadata?.name ?? '', b.metadata?.name ?? ''));

const isReady = ({ status }: V1Pod): boolean =>
  status?.phase === 'Succeeded' ||
  (status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false);

/** The scheduler's message if there is one, else what the containers wait for. */
function whyPending({ metadata, status }: V1Pod): string {
  const scheduled = status?.conditions?.find(
    (condition) => condition.type === 'PodScheduled' && condition.status === 'False',
  );
  if (scheduled)
    return `${metadata?.name} pending: ${foreignText(scheduled.message ?? scheduled.reason ?? 'not scheduled')}`;
  const waiting = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
    (container) => container.state?.waiting,
  )?.state?.waiting;
  const why = waiting
    ? foreignText([waiting.reason, waiting.message].filter(Boolean).join(': '))
    : (status?.phase ?? 'just created').toLowerCase();
  return `${metadata?.name} not ready: ${why}`;
}
