/** Requests of people, the open incident, and what recoveries count against the budget. Pure. */

import { blames } from '../../contract/faults/faults.ts';
import { outcomes } from '../../contract/recovery/outcomes.ts';
import type { RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import type {
  BudgetAttribution,
  BudgetEntry,
  OpenIncident,
  RecoveryRequest,
  RequestedBy,
} from '../../contract/job/training-job.ts';
import { iso } from '../../contract/settings/duration.ts';
import { isObject } from '../faults.ts';
import { dismissed } from './inbox.ts';
import { type JobData, most } from './state.ts';

/** A request while an incident is open, or a second label before the first was removed, asks for what already happens; its label must still be removed. */
export function requested<State extends JobData>(state: State, request: RecoveryRequest): State {
  const label = request.label === true;
  if (label && state.requests.some((one) => one.label)) return state;
  if (state.open || state.requests.length >= most.requests) return label ? { ...state, labelLeft: true } : state;
  const requests = [...state.requests, { ...request, ...(label ? { byLabel: true as const } : {}) }];
  return { ...state, requests, revision: state.revision + 1 };
}

/** The label is being removed: no waiting request has one any more. */
export const withoutLabels = <State extends JobData>(state: State): State => ({
  ...state,
  labelLeft: false,
  requests: state.requests.map(({ by, reason, byLabel }) => ({ by, reason, ...(byLabel ? { byLabel } : {}) })),
});

export const nextRequest = ({ open, requests }: JobData): RecoveryRequest | undefined =>
  open ? undefined : requests[0];

/** Refuses what the label asked for. Other requests stay, and so does what a person was promised. */
export const requestRefused = <State extends JobData>(state: State): State => ({
  ...state,
  requests: state.requests.slice(1),
  open: state.open?.started === false && state.open.askedBy?.byLabel ? undefined : state.open,
});

export const incidentOf = (incident: string, since: number, askedBy: RequestedBy | undefined): OpenIncident => ({
  incident,
  since,
  started: false,
  ...(askedBy
    ? { askedBy: { by: askedBy.by, reason: askedBy.reason, ...(askedBy.byLabel ? { byLabel: askedBy.byLabel } : {}) } }
    : {}),
});

/** Its recovery runs: what was requested meanwhile is what it does, and it counts against the budget until its report says otherwise. */
export const started = <State extends JobData>(
  state: State,
  open: OpenIncident,
  attribution?: BudgetAttribution,
): State & { readonly open: OpenIncident } => ({
  ...state,
  open: { ...open, started: true },
  labelLeft: state.labelLeft || state.requests.some(({ label }) => label),
  requests: [],
  usage: [
    ...state.usage.filter(({ incident }) => incident !== open.incident),
    { incident: open.incident, startedAt: open.since, ...attribution },
  ].slice(-most.usage),
});

/**
 * A recovery has reported. Keeps every fault that it did not take into account. A recovery that began no stop does not count against the budget,
 * unless the label asked for it: it looked, and captured evidence.
 */
export function reported<State extends JobData>(state: State, report: unknown, at: number): State {
  if (!isReport(report)) return { ...state, dropped: state.dropped + 1 };
  const after = {
    ...dismissed(state, report.faults),
    usage: state.usage.flatMap((one) =>
      one.incident !== report.incident
        ? [one]
        : report.stopsStarted === 0 && !one.byLabel
          ? []
          : [{ ...one, endedAt: at, ...attributionOf(report) }],
    ),
    attemptStartedAt: report.attemptStartedAt ?? state.attemptStartedAt,
    revision: state.revision + 1,
  };
  if (!state.open?.started || state.open.incident !== report.incident) return after;
  return {
    ...after,
    last: { incident: report.incident, outcome: report.outcome, because: report.because.slice(0, 500), at: iso(at) },
    open: undefined,
    sent: [],
    waitingSince: after.inbox.length > 0 ? at : undefined,
  };
}

/** Whether it is the report of this incident. */
export const isReportOf = (report: unknown, { incident }: OpenIncident): boolean =>
  isReport(report) && report.incident === incident;

/** What Temporal still knows, when the workflow of a job starts anew. */
export interface FoundRecoveries {
  readonly usage: readonly BudgetEntry[];
  readonly open?: string;
}

export const adopted = <State extends JobData>(state: State, { usage, open }: FoundRecoveries, at: number): State => ({
  ...state,
  usage: state.usage.length === 0 ? usage.slice(-most.usage) : state.usage,
  open: state.open ?? (open === undefined ? undefined : { incident: open, since: at, started: true }),
});

/** What the recovery knew at its end is more accurate than the attribution at its start. */
const attributionOf = ({ blame, before }: RecoveryOutcome): BudgetAttribution => ({
  ...(blame !== undefined && (blames as readonly unknown[]).includes(blame) ? { blame } : {}),
  ...(typeof before?.step === 'number' ? { step: before.step } : {}),
  ...(typeof before?.checkpointStep === 'number' ? { checkpointStep: before.checkpointStep } : {}),
});

const isReport = (report: unknown): report is RecoveryOutcome =>
  isObject(report) &&
  typeof report['incident'] === 'string' &&
  typeof report['because'] === 'string' &&
  (outcomes as readonly unknown[]).includes(report['outcome']) &&
  Array.isArray(report['faults']) &&
  report['faults'].every((id) => typeof id === 'string');
