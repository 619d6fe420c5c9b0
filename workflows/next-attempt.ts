/** What comes after a stop: a whole new attempt runs, and, where the job tells, training moves on. News of a fault comes before both. */

import type { Announcement } from '../contract/activities.ts';
import type { eventReasons } from '../contract/ids.ts';
import { trainingHangs } from '../contract/faults.ts';
import type { AttemptPod } from '../contract/jobs.ts';
import type { JobProgress } from '../contract/progress.ts';
import type { Level } from '../contract/recovery-plan.ts';
import type { Outcome } from '../contract/outcomes.ts';
import type { AwaitResult, RecoveryInput } from '../contract/recovery.ts';
import type { IncidentMemory } from './incident-memory.ts';
import { unlessNews } from './news.ts';
import { announce, perform } from './proxies.ts';
import type { Story } from './story.ts';

/** How a recovery ends. */
export interface End {
  /** It could not see, or was not allowed to act: faults that no stop has answered stay with the job. */
  readonly unanswered?: boolean;
  readonly outcome: Outcome;
  readonly because: string;
  readonly pods?: readonly AttemptPod[];
  /** How many there are, where that is more. */
  readonly podsOf?: number;
  readonly attemptStartedAt?: string;
}

export interface Following {
  readonly input: RecoveryInput;
  /** When the incident began, ms. */
  readonly startedAt: number;
  readonly memory: IncidentMemory;
  readonly story: Story;
  /** What was restarted; missing where the whole job was. */
  readonly level?: Extract<Level, { name: 'pod' }> | undefined;
  readonly event: (type: Announcement['type'], reason: keyof typeof eventReasons, message: string) => Announcement;
}

/** `escalate`: what was restarted alone did not help, and why. */
export type Followed = End | 'news' | { readonly escalate: string };

/** It had said that it does something else than to make steps. */
const isResting = ({ phase = 'training' }: JobProgress): boolean => phase !== 'training';

type Running = Extract<AwaitResult, { kind: 'running' }>;

/** Waits for the new attempt, first with the usual deadline, then for room; and then for proof. */
export async function followAttempt({ input, startedAt, memory, story, level, event }: Following): Promise<Followed> {
  const { incident, job, limits } = input;
  // The last look into the inbox: what came meanwhile is answered in this incident.
  const isNews = () => memory.unanswered().length > 0;
  const restartMs = level?.withinMs ?? limits.restartMs;
  const stoppedBy = memory.stoppedBy();

  story.now('restarting', {
    because: memory.stops.length > 0 ? 'the old attempt is gone' : '',
    waitingFor: 'all new pods ready',
    until: Date.now() + restartMs,
  });
  const first = await ready(restartMs);
  if (first === 'news' || first.kind !== 'overdue') return conclude(first);
  if (level) return { escalate: `the broken pods alone do not run again: ${first.because}` };

  story.happened('waiting for placement', first.because);
  story.now('waiting for placement', {
    because: first.because,
    waitingFor: 'room for all pods; nothing is deleted again',
    until: Date.now() + limits.placementMs,
  });
  void announce(event('Warning', 'waitingForPlacement', first.because));
  return conclude(await ready(limits.placementMs));

  async function ready(deadlineMs: number): Promise<AwaitResult | 'news'> {
    return unlessNews(isNews, () =>
      perform('awaitAttempt', 'wait until all pods of the next attempt are ready', {
        incident,
        job,
        old: memory.stoppedUids(),
        ...stoppedBy,
        ...(memory.staying.length > 0 && { staying: memory.staying }),
        deadlineMs,
      }),
    );
  }

  async function conclude(seen: AwaitResult | 'news'): Promise<Followed> {
    if (seen === 'news') return 'news';
    if (seen.kind === 'ended') return seen;
    if (seen.kind === 'overdue') return { outcome: 'handed over', because: `not running: ${seen.because}` };
    return isNews() ? 'news' : prove(seen);
  }

  /** A job that never told of its progress cannot be verified, and its recovery says so. */
  async function prove(seen: Running): Promise<Followed> {
    const cause = memory.decisions.find((decision) => decision.kind === 'stop')?.because ?? 'no stop was needed';
    const stops = memory.stops.length === 1 ? '1 stop' : `${memory.stops.length} stops`;
    const runs = `${cause}; all ${seen.of ?? seen.pods.length} pods run again after ${stops}`;
    const there = { pods: seen.pods, ...(seen.of !== undefined && { podsOf: seen.of }), attemptStartedAt: seen.startedAt };
    const { before } = memory.progress;
    if (before === undefined || limits.verify === undefined) return { outcome: 'restarted', because: `${runs}, training is not verified`, ...there };

    const { firstMs, stallMs, mostMs } = limits.verify;
    // Who stopped telling long before the fault does not begin again with the next attempt.
    const rested = isResting(before) || memory.faults.some(({ code }) => code === trainingHangs);
    if (!rested && Date.parse(before.at) < startedAt - firstMs)
      return { outcome: 'restarted', because: `${runs}, training is not verified: its progress was last told at ${before.at}`, ...there };
    story.happened('all pods run', runs);
    story.now('verifying', {
      because: `${runs}; step ${before.step} was the last before the fault`,
      waitingFor: `a step beyond ${before.step}`,
      until: Date.now() + mostMs,
    });
    const proof = await unlessNews(isNews, () =>
      perform('verifyProgress', `wait until training passes step ${before.step}`, {
        incident,
        job,
        // Those that were not stopped have gone on: only what came since counts.
        since: level ? (seen.wholeSince ?? seen.startedAt) : seen.startedAt,
        beyond: before.step,
        stopped: memory.stoppedUids(),
        ...stoppedBy,
        firstMs,
        stallMs,
        mostMs,
      }),
    );
    // It has its own incident, with the budget and the pauses of its own: this one did what it was for.
    if (proof === 'news') return { outcome: 'restarted', because: `${runs}, and met a new fault before training was verified`, ...there };
    if (proof.kind === 'ended') return { ...there, ...proof };
    memory.progress = { before, ...(proof.progress ? { after: proof.progress } : {}) };
    if (proof.kind === 'unverified' && proof.moves)
      return { outcome: 'restarted', because: `${runs}; training moves, and is not back yet: ${proof.because}`, ...there };
    if (proof.kind === 'unverified' && level) return { escalate: `the broken pods run again, but training does not move on: ${proof.because}` };
    if (proof.kind === 'unverified') return { outcome: 'handed over', because: `${runs}, but training does not move on: ${proof.because}`, ...there };
    return { outcome: 'recovered', because: `${runs}; training moves on: ${proof.because}`, ...there };
  }
}
