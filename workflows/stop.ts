/** One stop: what it is to be was decided and prepared; here it is done, and what belongs between two attempts. */

import type { RecoveryPlan } from '../contract/recovery-plan.ts';
import { counted, type IncidentMemory, notProvenDead } from './incident-memory.ts';
import { awaitDyingGasp } from './checkpoint.ts';
import type { Preparing } from './preparing.ts';
import { announce, perform, tolerate } from './proxies.ts';
import { stopAttempt } from './stop-attempt.ts';

/** `interfered`: the job changed between look and stop; nothing was done. */
export type Stopped = 'stopped' | 'interfered' | { readonly because: string };

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
  story.now('stopping', { because, waitingFor: `${counted(pods)} to be gone`, until });
  memory.suspended ||= by === 'suspend';
  memory.begun += 1;
  const resourceVersion = facts.job?.resourceVersion ?? '';
  const noGrace = plan?.force && { noGrace: true as const };
  const request = { incident, attempt, job, by, resourceVersion, pods, leaving, because, deadlineMs: limits.stopMs, ...noGrace } as const;
  const result = await stopAttempt(request, { until, overtime: limits.overtime }, memory, story);
  if (result.kind === 'interfered') {
    memory.begun -= 1;
    story.happened('looked again', result.because);
    return 'interfered';
  }
  if (result.kind === 'timed-out') return { because: `${result.because}: ${result.left.slice(0, 5).join(', ')}` };
  const forced = memory.forcedNow();
  const doubt = notProvenDead(forced);
  memory.staying = level ? facts.pods.flatMap(({ uid }) => (level.pods.includes(uid) ? [] : [uid])) : [];
  memory.stopped({ attempt, by, at: result.at, pods, ...(forced.length > 0 ? { forced } : {}) }, leaving);
  story.happened(`attempt ${attempt} stopped`, `${counted(pods)} by ${by}${doubt}`);
  if (plan && by === 'suspend') await betweenAttempts(preparing, plan);
  await resume(input, memory);
  void announce(event(doubt ? 'Warning' : 'Normal', 'attemptStopped', `attempt ${attempt} stopped (${counted(pods)}) by ${by}${doubt}: ${because}`));
  return 'stopped';
}

/** Takes off our own suspend, if there may be one. */
export async function resume({ job, incident }: Preparing['input'], memory: IncidentMemory): Promise<void> {
  if (!memory.suspended) return;
  await perform('resumeJob', 'let the next attempt be created', { job, incident });
  memory.suspended = false;
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
