/** One stop until its end. Pods that no kubelet ends any more are deleted by force, after that intent is in history. */

import type { AttemptPod } from '../../contract/jobs.ts';
import type { RecoveryLimits, StopRequest, StopResult } from '../../contract/recovery.ts';
import { counted, type IncidentState } from './incident-state.ts';
import { perform } from '../proxies.ts';
import type { Timeline } from './timeline.ts';

/** Minimum time for a deletion by force, however late it was decided. */
const leastStopMs = 60_000;

/** A node that comes and goes saves its pods and loses them again; after this many rounds a person is asked. */
const mostRounds = 5;

interface Forcing {
  readonly pods: readonly AttemptPod[];
  readonly because: string;
  /** Whether or not a kubelet could still end them. */
  readonly immediate?: true;
}

/** `until`, ms: when the whole stop must be over. Each later round forces the pods that the one before found to be lost. */
export async function stopAttempt(
  request: StopRequest,
  { until, overdue }: { readonly until: number; readonly overdue: RecoveryLimits['overdue'] },
  state: IncidentState,
  timeline: Timeline,
): Promise<Exclude<StopResult, { kind: 'lost' }>> {
  let result = await perform('stopAttempt', `stop attempt ${request.attempt} (${counted(request)}) by ${request.by}: ${request.because}`, request);
  let isOverdue = false;
  for (let round = 1; ; round++) {
    const forcing: Forcing | undefined = result.kind === 'lost' ? result : overdue === 'force' && !isOverdue ? forceOverdue(request, result) : undefined;
    if (!forcing) break;
    isOverdue ||= forcing.immediate === true;
    const { pods, because } = forcing;
    if (round > mostRounds) {
      return { kind: 'timed-out', because: `${because}; that was so ${round} times, and each time its node came back`, left: pods.map(({ name }) => name) };
    }
    state.mayForce(pods);
    const doomed = counted({ pods });
    timeline.happened(`deleting ${doomed} by force${forcing.immediate ? ', each when its grace period is over' : ''}`, because);
    const deadlineMs = Math.max(leastStopMs, until - Date.now());
    const immediate = forcing.immediate && { immediate: true as const, ...(request.immediate ? {} : { overdue: true as const }) };
    result = await perform('stopAttempt', `delete ${doomed} by force: ${because}`, { ...request, ...immediate, force: state.forcedNow(), deadlineMs });
    state.wasForced('forced' in result ? (result.forced ?? []) : []);
  }
  return result.kind === 'lost' ? { kind: 'timed-out', because: result.because, left: result.pods.map(({ name }) => name) } : result;
}

/** Pods that exceeded their grace period. Source: the grace-over-time of Ascend's Volcano plugin. */
function forceOverdue({ pods, terminating = [] }: StopRequest, result: StopResult): Forcing | undefined {
  if (result.kind !== 'timed-out') return undefined;
  const left = new Set(result.left);
  return { pods: [...pods, ...terminating].filter(({ name }) => left.has(name)), because: result.because, immediate: true };
}
