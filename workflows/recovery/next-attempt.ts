/** What follows a stop: a whole new attempt runs and, where the job reports progress, training moves on. A new fault comes before both. */

import type { Announcement } from '../../contract/activities.ts';
import type { eventReasons } from '../../contract/ids.ts';
import { trainingHangs } from '../../contract/faults.ts';
import type { AttemptPod } from '../../contract/jobs.ts';
import type { JobProgress } from '../../contract/progress.ts';
import type { RecoveryLevel } from '../../contract/recovery-plan.ts';
import type { Outcome } from '../../contract/outcomes.ts';
import type { AwaitResult, RecoveryInput } from '../../contract/recovery.ts';
import type { IncidentState } from './incident-state.ts';
import { unlessChanged } from './unless-changed.ts';
import { announce, perform } from '../proxies.ts';
import type { Timeline } from './timeline.ts';

/** How a recovery ends. */
export interface End {
  /** kcover could not observe, or was not allowed to act: faults that no stop has handled stay with the job. */
  readonly unhandled?: boolean;
  readonly outcome: Outcome;
  readonly because: string;
  readonly pods?: readonly AttemptPod[];
  /** Number of all pods, where `pods` does not list them all. */
  readonly podsOf?: number;
  readonly attemptStartedAt?: string;
}

export interface Following {
  readonly input: RecoveryInput;
  /** When the incident began, ms. */
  readonly startedAt: number;
  readonly state: IncidentState;
  readonly timeline: Timeline;
  /** What was restarted; absent where the whole job was. */
  readonly level?: Extract<RecoveryLevel, { name: 'pod' }> | undefined;
  readonly event: (type: Announcement['type'], reason: keyof typeof eventReasons, message: string) => Announcement;
}

/** `nextLevelBecause`: why restarting a part of the job did not help. */
export type Followed = End | 'changed' | { readonly nextLevelBecause: string };

/** The job had reported a phase other than training. */
const isResting = ({ phase = 'training' }: JobProgress): boolean => phase !== 'training';

type Running = Extract<AwaitResult, { kind: 'running' }>;

/** Waits for the new attempt: first with the usual deadline, then for capacity, and then for proof of progress. */
export async function followAttempt({ input, startedAt, state, timeline, level, event }: Following): Promise<Followed> {
  const { incident, job, limits } = input;
  // A fault that arrives before the end is handled in this incident.
  const hasChanged = () => state.unhandled().length > 0;
  const restartMs = level?.withinMs ?? limits.restartMs;
  const stoppedBy = state.stoppedBy();

  timeline.now('restarting', {
    because: state.stops.length > 0 ? 'the old attempt is gone' : '',
    waitingFor: 'all new pods ready',
    until: Date.now() + restartMs,
  });
  const first = await ready(restartMs);
  if (first === 'changed' || first.kind !== 'overdue') return conclude(first);
  if (level) return { nextLevelBecause: `the broken pods alone do not run again: ${first.because}` };

  timeline.happened('waiting for placement', first.because);
  timeline.now('waiting for placement', {
    because: first.because,
    waitingFor: 'capacity for all pods; nothing is deleted again',
    until: Date.now() + limits.placementMs,
  });
  void announce(event('Warning', 'waitingForPlacement', first.because));
  return conclude(await ready(limits.placementMs));

  async function ready(deadlineMs: number): Promise<AwaitResult | 'changed'> {
    return unlessChanged(hasChanged, () =>
      perform('awaitAttempt', 'wait until all pods of the next attempt are ready', {
        incident,
        job,
        old: state.stoppedUids(),
        ...stoppedBy,
        ...(state.remaining.length > 0 && { remaining: state.remaining }),
        deadlineMs,
      }),
    );
  }

  async function conclude(seen: AwaitResult | 'changed'): Promise<Followed> {
    if (seen === 'changed') return 'changed';
    if (seen.kind === 'ended') return seen;
    if (seen.kind === 'overdue') return { outcome: 'escalated', because: `not running: ${seen.because}` };
    return hasChanged() ? 'changed' : prove(seen);
  }

  /** A job that never reported progress cannot be verified, and its recovery says so. */
  async function prove(seen: Running): Promise<Followed> {
    const cause = state.decisions.find((decision) => decision.kind === 'stop')?.because ?? 'no stop was needed';
    const stops = state.stops.length === 1 ? '1 stop' : `${state.stops.length} stops`;
    const runs = `${cause}; all ${seen.of ?? seen.pods.length} pods run again after ${stops}`;
    const there = { pods: seen.pods, ...(seen.of !== undefined && { podsOf: seen.of }), attemptStartedAt: seen.startedAt };
    const { before } = state.progress;
    if (before === undefined || limits.verify === undefined) return { outcome: 'restarted', because: `${runs}, training is not verified`, ...there };

    const { firstMs, stallMs, mostMs } = limits.verify;
    // A job that stopped reporting long before the fault does not begin again with the next attempt.
    const rested = isResting(before) || state.faults.some(({ code }) => code === trainingHangs);
    if (!rested && Date.parse(before.at) < startedAt - firstMs)
      return { outcome: 'restarted', because: `${runs}, training is not verified: its progress was last reported at ${before.at}`, ...there };
    timeline.happened('all pods run', runs);
    timeline.now('verifying', {
      because: `${runs}; step ${before.step} was the last before the fault`,
      waitingFor: `a step beyond ${before.step}`,
      until: Date.now() + mostMs,
    });
    const proof = await unlessChanged(hasChanged, () =>
      perform('verifyProgress', `wait until training passes step ${before.step}`, {
        incident,
        job,
        // Pods that were not stopped kept training: only what they reported since counts.
        since: level ? (seen.wholeSince ?? seen.startedAt) : seen.startedAt,
        beyond: before.step,
        stopped: state.stoppedUids(),
        ...stoppedBy,
        firstMs,
        stallMs,
        mostMs,
      }),
    );
    // The new fault gets its own incident, with its own budget and pauses: this one has done its work.
    if (proof === 'changed') return { outcome: 'restarted', because: `${runs}, and met a new fault before training was verified`, ...there };
    if (proof.kind === 'ended') return { ...there, ...proof };
    state.progress = { before, ...(proof.progress ? { after: proof.progress } : {}) };
    if (proof.kind === 'unverified' && proof.moves)
      return { outcome: 'restarted', because: `${runs}; training moves, but has not caught up yet: ${proof.because}`, ...there };
    if (proof.kind === 'unverified' && level) return { nextLevelBecause: `the broken pods run again, but training does not move on: ${proof.because}` };
    if (proof.kind === 'unverified') return { outcome: 'escalated', because: `${runs}, but training does not move on: ${proof.because}`, ...there };
    return { outcome: 'recovered', because: `${runs}; training moves on: ${proof.because}`, ...there };
  }
}
