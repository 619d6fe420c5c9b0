/** One run of a hook, by one try of the activity or several: what they know of each other, and until when they wait. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { KcoverError } from '../../contract/errors.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import type { HookRequest, HookResult } from '../../contract/remedy/remedy.ts';
import { type ObservationClock, observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import type { Dependencies } from '../dependencies.ts';
import { heartbeatNow, reportInHeartbeats } from '../heartbeats.ts';

/** What a later try must know. */
interface Progress {
  /** Set before anything is sent or started. */
  readonly begun?: true;
  /** UID of the object that was created. */
  readonly created?: string;
  /** The server has taken the request; where it said that its state is found. */
  readonly accepted?: true;
  readonly location?: string;
}

export interface HookRun {
  readonly dependencies: Dependencies;
  readonly request: HookRequest;
  readonly clock: ObservationClock;
  /** ms since the epoch. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** An earlier try may have acted. Its heartbeats can be lost, so every later try has to expect that. */
  readonly isLater: boolean;
  readonly progress: Progress;
  /** What is left behind when kcover stops waiting. */
  reference: string | undefined;
  /** Notes what has happened, for a later try. */
  note(progress: Progress): void;
}

/** The run of this activity, from its schedule on: a later try does not start over. */
export function currentRun(dependencies: Dependencies, request: HookRequest): HookRun {
  const { info, cancellationSignal: signal } = Context.current();
  const earlier = progressOf(info.heartbeatDetails);
  const clock = observationClock(dependencies.now, info.scheduledTimestampMs, observedOf(info.heartbeatDetails));
  let progress = earlier;
  reportInHeartbeats(() => ({ progress, clock: clock.observed() }));
  return {
    dependencies,
    request,
    clock,
    deadline: info.scheduledTimestampMs + request.timeoutMs,
    signal,
    isLater: info.attempt > 1 || earlier.begun === true,
    get progress() {
      return progress;
    },
    reference: undefined,
    note(more) {
      progress = { ...progress, ...more };
      heartbeatNow();
    },
  };
}

function progressOf(details: unknown): Progress {
  const { progress } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly progress?: Progress;
  };
  return {
    ...(progress?.begun && { begun: true }),
    ...(typeof progress?.created === 'string' && { created: progress.created }),
    ...(progress?.accepted && { accepted: true }),
    ...(typeof progress?.location === 'string' && { location: progress.location }),
  };
}

const pauseMs = 1000;

/** Repeats a call while Kubernetes does not answer; throws its last error at the deadline. */
export async function untilAnswered<T>(
  { dependencies, deadline, signal }: HookRun,
  call: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof KcoverError) || !error.transient || dependencies.now() >= deadline) throw error;
      await sleep(error.retryAfterMs ?? pauseMs, undefined, { signal });
    }
  }
}

/** The same result, with where more is to be found. */
export const withReference = (result: HookResult, reference: string): HookResult => ({ reference, ...result });

export const overdue = ({ request }: HookRun, what: string): string =>
  `${what} did not end within ${formatDuration(request.timeoutMs)}`;
