/** Carries out one stop that was decided and prepared, and what belongs between two attempts. */

import { CancellationScope, sleep } from '@temporalio/workflow';
import { formatDuration } from '../../contract/duration.ts';
import { jobTitle } from '../../contract/jobs.ts';
import type { RecoveryPlan } from '../../contract/recovery-plan.ts';
import { counted, notProvenDead } from './incident-state.ts';
import { awaitFinalCheckpoint } from './checkpoint.ts';
import type { Preparing } from './preparing.ts';
import { announce, perform, tolerate } from '../proxies.ts';
import { stopAttempt } from './stop-attempt.ts';

/** `againMs`: nothing was done; everything is looked at again after this time, which doubles. */
export type StopOutcome = 'stopped' | { readonly because: string; readonly againMs?: number };

/** Pause between a stop that did nothing and the next look, ms: somebody else changed the job, or the stop could not be sent. */
const again = { interfered: 200, unsent: 5000 } as const;

/** Other pods run than those of the look that the stop was decided from. */
export const othersRun: StopOutcome = { because: 'the pods of the job keep changing', againMs: again.interfered };

/** When people are first notified that a job is not resumed yet, ms; then after twice as long, up to the maximum. */
const firstNoticeMs = 30_000;
const mostPauseMs = 3_600_000;

export async function stop(preparing: Preparing): Promise<StopOutcome> {
  const { input, state, timeline, event, facts } = preparing;
  const { because, at, plan, by: whole } = preparing.decision;
  const { incident, job, limits } = input;
  const level = plan?.level.name === 'pod' ? plan.level : undefined;
  const by = level ? 'pods' : whole;
  const pods = level ? facts.pods.filter(({ uid }) => level.pods.includes(uid)) : facts.pods;
  const terminating = level ? [] : (facts.terminating ?? []);
  const attempt = state.stops.length + 1;
  const until = at + limits.stopMs;
  timeline.now('stopping', { because, waitingFor: `${counted({ pods })} to be gone`, until });
  state.suspended ||= by === 'suspend';
  state.stopsStarted += 1;
  const resourceVersion = facts.job?.resourceVersion ?? '';
  const immediate = plan?.force && { immediate: true as const };
  const asked = input.askedBy !== undefined && attempt === 1 && { asked: true as const };
  const request = { incident, attempt, job, by, resourceVersion, pods, terminating, because, deadlineMs: limits.stopMs, ...immediate, ...asked } as const;
  const result = await stopAttempt(request, { until, overdue: limits.overdue }, state, timeline);
  if (result.kind === 'interfered' || result.kind === 'unsent') {
    state.stopsStarted -= 1;
    timeline.happened(result.kind === 'unsent' ? 'not sent' : 'looked again', result.because);
    if (result.kind === 'unsent') void announce(event('Warning', 'stopNotSent', `attempt ${attempt} is not stopped yet: ${result.because}`));
    const because = result.kind === 'unsent' ? `the stop could not be sent: ${result.because}` : 'somebody else keeps changing the job';
    return { because, againMs: again[result.kind] };
  }
  if (result.kind === 'timed-out') return { because: `${result.because}: ${result.left.slice(0, 5).join(', ')}` };
  const forced = state.forcedNow();
  const doubt = notProvenDead(forced);
  state.remaining = level ? facts.pods.flatMap(({ uid }) => (level.pods.includes(uid) ? [] : [uid])) : [];
  const stopped = [...pods, ...(result.late ?? [])];
  state.stopped(
    { attempt, by, at: result.at, pods: stopped, ...(facts.more && !level && { digest: facts.more.digest }), ...(forced.length > 0 ? { forced } : {}) },
    terminating,
  );
  timeline.happened(`attempt ${attempt} stopped`, `${counted({ pods: stopped })} by ${by}${doubt}`);
  if (plan && by === 'suspend') await betweenAttempts(preparing, plan);
  await resume(preparing);
  void announce(
    event(doubt ? 'Warning' : 'Normal', 'attemptStopped', `attempt ${attempt} stopped (${counted({ pods: stopped })}) by ${by}${doubt}: ${because}`),
  );
  return 'stopped';
}

/** Removes kcover's own suspend, if there may be one, however long that takes; people are notified when it takes long. */
export async function resume({ input, state, timeline, event }: Pick<Preparing, 'input' | 'state' | 'timeline' | 'event'>): Promise<void> {
  if (!state.suspended) return;
  const { job, incident } = input;
  const waiting = new CancellationScope();
  void waiting.run(() => reportDelay({ input, timeline, event })).catch(() => undefined);
  try {
    await perform('resumeJob', 'let the next attempt be created', { job, incident });
    state.suspended = false;
  } finally {
    waiting.cancel();
  }
}

/** Repeats until it is cancelled. */
async function reportDelay({ input: { job }, timeline, event }: Pick<Preparing, 'input' | 'timeline' | 'event'>): Promise<void> {
  const startedAt = Date.now();
  for (let pause = firstNoticeMs; ; pause = Math.min(2 * pause, mostPauseMs)) {
    await sleep(pause, { summary: 'the job should be resumed by now' });
    const because = `${jobTitle(job)} is still suspended by kcover, which has tried to resume it for ${formatDuration(Date.now() - startedAt)} and goes on trying`;
    timeline.happened('not resumed yet', because);
    void announce(event('Warning', 'resumeDelayed', because));
  }
}

/** Changes the job while nothing of it runs: nothing is created before it is resumed. */
async function betweenAttempts(preparing: Preparing, plan: RecoveryPlan): Promise<void> {
  await awaitFinalCheckpoint(preparing, plan);
  const { input, state, timeline, event } = preparing;
  const { nextPods: pods } = state.capacity;
  const { priorityClass } = plan;
  if (pods === undefined && priorityClass === undefined) return;
  const { incident, job } = input;
  const what = [pods === undefined ? '' : `${pods} pods`, priorityClass === undefined ? '' : `priority ${priorityClass}`].filter(Boolean).join(', ');
  const request = { incident, job, ...(pods !== undefined && { pods }), ...(priorityClass !== undefined && { priorityClass }) };
  const done = await tolerate(perform('resizeJob', `the next attempt: ${what}`, request));
  state.capacity.nextPods = undefined;
  if (done?.kind !== 'resized') {
    timeline.happened('not resized', done?.because ?? 'it could not be written');
    return;
  }
  const { before, after, ignored } = done;
  const without = ignored === undefined ? '' : `; without the priority: ${ignored}`;
  timeline.happened('resized', `${what}; ${before} pods before, ${after} now${without}`);
  if (before === after) return;
  state.resized = { before: state.resized?.before ?? before, after };
  void announce(event('Warning', 'jobResized', `the job goes on with ${after} pods of ${before}: no capacity for more`));
}
