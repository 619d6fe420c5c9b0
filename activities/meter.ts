/** Metrics and logs of activities: their answers, failed attempts, and durations. */

import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Outcome } from '../contract/recovery/outcomes.ts';
import type { RemedyOutcome } from '../contract/remedy/remedy.ts';
import type { Activities } from '../contract/wire/activities.ts';
import { mapActivities } from './map-activities.ts';

type Name = keyof Activities;
type ActivityResult<N extends Name> = Awaited<ReturnType<Activities[N]>>;

/** Port for metrics. */
export interface Meter {
  decided(about: 'node' | 'incident' | 'recovery' | 'capacity' | 'opt-in', kind: string): void;
  held(what: 'quarantine' | 'recovery'): void;
  quarantined(taint: string): void;
  released(): void;
  stopped(by: string, result: string, forced: number): void;
  ended(outcome: Outcome, seconds: number): void;
  stuck(): void;
  repaired(outcome: RemedyOutcome['outcome']): void;
  notified(route: string): void;
  notNotified(route: string, code: string): void;
  failed(activity: string, code: string): void;
}

type Observers = { readonly [N in Name]?: (answer: ActivityResult<N>, request: Parameters<Activities[N]>[0]) => void };

const observers = (meter: Meter): Observers => ({
  decideNode: ({ kind }) => meter.decided('node', kind),
  decideIncident: ({ kind }) => meter.decided('incident', kind),
  decideOptIn: ({ kind }) => meter.decided('opt-in', kind),
  decideRecovery({ kind }) {
    meter.decided('recovery', kind);
    if (kind === 'hold') meter.held('recovery');
  },
  decideCapacity({ kind }) {
    meter.decided('capacity', kind);
    if (kind === 'hold') meter.held('recovery');
  },
  reserveQuarantine: ({ granted }) => void (granted || meter.held('quarantine')),
  quarantineNode: ({ taint }) => meter.quarantined(taint),
  releaseNode: ({ kind }) => void (kind === 'released' && meter.released()),
  stopAttempt: (result, { by }) =>
    meter.stopped(by, result.kind, 'forced' in result ? (result.forced ?? []).length : 0),
  lookAtRecovery: (seen) => void (seen.kind === 'running' && seen.stuck !== undefined && meter.stuck()),
  deliverNotification: (_, { route }) => meter.notified(route),
  recordIncident(_, record) {
    if ('job' in record) return meter.ended(record.outcome, secondsOf(record));
    // The record of the release repeats how the repair ended.
    if (record.remedy && !record.ended) meter.repaired(record.remedy.outcome);
  },
});

/** What failed attempts count beside `failed`. */
const failureObservers = (
  meter: Meter,
): { readonly [N in Name]?: (code: string, request: Parameters<Activities[N]>[0]) => void } => ({
  deliverNotification: (code, { route }) => meter.notNotified(route, code),
});

const secondsOf = ({ startedAt, endedAt }: { readonly startedAt: string; readonly endedAt: string }): number =>
  (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;

/** Frequent activities that change nothing. */
const quiet = /^(observe|decide|find|lookAt)/;

/** The same activities, with each answer counted and each effect logged under its incident. */
export function metered(activities: Activities, meter: Meter, log: Logger): Activities {
  type Observe = (answer: unknown, request: unknown) => void;
  const seen = observers(meter) as Readonly<Record<string, Observe | undefined>>;
  const failed = failureObservers(meter) as Readonly<Record<string, Observe | undefined>>;
  return mapActivities(activities, (activity, name) => async (...args) => {
    const [request] = args;
    const about = { ...subjectOf(request), activity: name };
    const began = performance.now();
    try {
      const answer = await activity(...args);
      seen[name]?.(answer, request);
      log[quiet.test(name) ? 'debug' : 'info']({ ...about, ms: Math.round(performance.now() - began) }, `${name} done`);
      return answer;
    } catch (error) {
      // Cancelled, or taken over by another worker.
      if (cancellationSignal().aborted) throw error;
      const code = error instanceof ApplicationFailure ? (error.type ?? 'unknown') : nameOf(error);
      meter.failed(name, code);
      failed[name]?.(code, request);
      log.warn({ ...about, code, because: error instanceof Error ? error.message : String(error) }, `${name} failed`);
      throw error;
    }
  });
}

/** The calling workflow, and the incident it is about: a recovery is its own incident. */
function subjectOf(request: unknown): { readonly workflow: string; readonly incident?: string } {
  const workflow = activityInfo().workflowExecution?.workflowId ?? '';
  const named =
    typeof request === 'object' && request !== null && 'incident' in request && typeof request.incident === 'string'
      ? request.incident
      : undefined;
  const incident = named ?? (workflow.startsWith('recovery/') ? workflow : undefined);
  return { workflow, ...(incident !== undefined && { incident }) };
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');
