/** One stop: what it is to be was decided and prepared; here it is done, and what belongs between two attempts. */

import { CancellationScope, sleep } from '@temporalio/workflow';
import { formatDuration } from '../contract/duration.ts';
import { jobTitle } from '../contract/jobs.ts';
import type { RecoveryPlan } from '../contract/recovery-plan.ts';
import { counted, notProvenDead } from './incident-memory.ts';
import { awaitDyingGasp } from './checkpoint.ts';
import type { Preparing } from './preparing.ts';
import { announce, perform, tolerate } from './proxies.ts';
import { stopAttempt } from './stop-attempt.ts';

/** `againMs`: nothing was done, and after this time, which doubles, everything is looked at anew. */
export type Stopped = 'stopped' | { readonly because: string; readonly againMs?: number };

/** Between a stop of which nothing was done and the next look, ms: somebody else changed the job, or it could not be sent. */
const again = { interfered: 200, unsent: 5000 } as const;

/** Since the look that the stop was decided from. */
export const othersRun: Stopped = { because: 'the pods of the job keep changing', againMs: again.interfered };

/** When people first hear that a job is not resumed yet, ms; then after twice as long, up to the most. */
const firstWordMs = 30_000;
const mostPauseMs = 3_600_000;

export async function stop(preparing: Preparing): Promise<Stopped> {
  const { input, memory, story, event, facts } = preparing;
  const { because, at, plan, by: whole } = preparing.decision;
  const { incident, job, limits } = input;
  const level = plan?.level.name === 'pod' ? plan.level : undefined;
  const by = level ? 'pods' : whole;
  const pods = level ? facts.pods.filter(({ uid }) => level.pods.includes(uid)) : facts.pods;
  const leaving = level ? [] : (facts.leaving ?? []);
  const attempt = memory.stops.length + 1;
  const until = at + limits.stopMs;
  story.now('stopping', { because, waitingFor: `${counted({ pods })} to be gone`, until });
  memory.suspended ||= by === 'suspend';
  memory.begun += 1;
  const resourceVersion = facts.job?.resourceVersion ?? '';
  const noGrace = plan?.force && { noGrace: true as const };
  const asked = input.askedBy !== undefined && attempt === 1 && { asked: true as const };
  const request = { incident, attempt, job, by, resourceVersion, pods, leaving, because, deadlineMs: limits.stopMs, ...noGrace, ...asked } as const;
  const result = await stopAttempt(request, { until, overtime: limits.overtime }, memory, story);
  if (result.kind === 'interfered' || result.kind === 'unsent') {
    memory.begun -= 1;
    story.happened(result.kind === 'unsent' ? 'not sent' : 'looked again', result.because);
    if (result.kind === 'unsent') void announce(event('Warning', 'stopNotSent', `attempt ${attempt} is not stopped yet: ${result.because}`));
    const because = result.kind === 'unsent' ? `the stop could not be sent: ${result.because}` : 'somebody else keeps changing the job';
    return { because, againMs: again[result.kind] };
  }
  if (result.kind === 'timed-out') return { because: `${result.because}: ${result.left.slice(0, 5).join(', ')}` };
  const forced = memory.forcedNow();
  const doubt = notProvenDead(forced);
  memory.staying = level ? facts.pods.flatMap(({ uid }) => (level.pods.includes(uid) ? [] : [uid])) : [];
  memory.stopped(
    { attempt, by, at: result.at, pods, ...(facts.more && !level && { digest: facts.more.digest }), ...(forced.length > 0 ? { forced } : {}) },
    leaving,
  );
  story.happened(`attempt ${attempt} stopped`, `${counted({ pods })} by ${by}${doubt}`);
  if (plan && by === 'suspend') await betweenAttempts(preparing, plan);
  await resume(preparing);
  void announce(event(doubt ? 'Warning' : 'Normal', 'attemptStopped', `attempt ${attempt} stopped (${counted({ pods })}) by ${by}${doubt}: ${because}`));
  return 'stopped';
}

/** Takes off our own suspend, if there may be one; however long that takes, and people hear when it takes long. */
export async function resume({ input, memory, story, event }: Pick<Preparing, 'input' | 'memory' | 'story' | 'event'>): Promise<void> {
  if (!memory.suspended) return;
  const { job, incident } = input;
  const waiting = new CancellationScope();
  void waiting.run(() => sayThatItWaits({ input, story, event })).catch(() => undefined);
  try {
    await perform('resumeJob', 'let the next attempt be created', { job, incident });
    memory.suspended = false;
  } finally {
    waiting.cancel();
  }
}

/** Until it is cancelled. */
async function sayThatItWaits({ input: { job }, story, event }: Pick<Preparing, 'input' | 'story' | 'event'>): Promise<void> {
  const begun = Date.now();
  for (let pause = firstWordMs; ; pause = Math.min(2 * pause, mostPauseMs)) {
    await sleep(pause, { summary: 'the job should be resumed by now' });
    const because = `${jobTitle(job)} is still suspended by kcover, which has tried to resume it for ${formatDuration(Date.now() - begun)} and goes on trying`;
    story.happened('not resumed yet', because);
    void announce(event('Warning', 'resumeDelayed', because));
  }
}

/** Nothing runs, and nothing is created before we resume. */
async function betweenAttempts(preparing: Preparing, plan: RecoveryPlan): Promise<void> {
  await awaitDyingGasp(preparing, plan);
  const { input, memory, story, event } = preparing;
  const { nextPods: pods } = memory.room;
  const { priorityClass } = plan;
  if (pods === undefined && priorityClass === undefined) return;
  const { incident, job } = input;
  const what = [pods === undefined ? '' : `${pods} pods`, priorityClass === undefined ? '' : `priority ${priorityClass}`].filter(Boolean).join(', ');
  const request = { incident, job, ...(pods !== undefined && { pods }), ...(priorityClass !== undefined && { priorityClass }) };
  const done = await tolerate(perform('reshapeJob', `the next attempt: ${what}`, request));
  memory.room.nextPods = undefined;
  if (done?.kind !== 'reshaped') {
    story.happened('not reshaped', done?.because ?? 'it could not be written');
    return;
  }
  const { before, after, ignored } = done;
  const without = ignored === undefined ? '' : `; without the priority: ${ignored}`;
  story.happened('reshaped', `${what}; ${before} pods before, ${after} now${without}`);
  if (before === after) return;
  memory.resized = { before: memory.resized?.before ?? before, after };
  void announce(event('Warning', 'jobResized', `the job goes on with ${after} pods of ${before}: no room for more`));
}
