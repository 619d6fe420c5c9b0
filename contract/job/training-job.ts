/** The workflow that looks after one training job: its input, state and answers. */

import type { Blame, Fault } from '../faults/faults.ts';
import type { JobOverrides } from './job-overrides.ts';
import type { JobRef } from './jobs.ts';
import type { OperatorRequest } from '../wire/messages.ts';
import type { JobProgress } from '../progress/progress.ts';
import type { Outcome } from '../recovery/outcomes.ts';
import type { Decided, RecoveryLimits } from '../recovery/recovery.ts';

/** Failures older than this at the workflow's first run for a job are history, ms. Allows for the start of the workflow itself. */
export const historyMs = 10 * 60_000;

/** Input of `trainingJob`. */
export interface JobInput {
  readonly job: JobRef;
}

/** Which budget category a recovery counts in. All fields may be missing: a job workflow that starts without state does not know them. */
export interface BudgetAttribution {
  /** Missing when unknown; then it counts in every category, but never beyond `recoveries` of the settings. */
  readonly blame?: Blame;
  /** Requested by a person: it counts in no category, and ends a crash loop. */
  readonly asked?: true;
  /** Requested by the need-recovery label, which anyone who may change the job can set: such recoveries have a budget category of their own. */
  readonly byLabel?: true;
  /** How far training was when it began. */
  readonly step?: number;
  readonly checkpointStep?: number;
}

/** A recovery that counts against the budget. Times are milliseconds since the epoch. */
export interface BudgetEntry extends BudgetAttribution {
  readonly incident: string;
  readonly startedAt: number;
  readonly endedAt?: number;
}

/** Number of recoveries in each budget category, without those requested by a person and those of unknown blame. */
export function usageByCategoryOf(usage: readonly BudgetAttribution[]): Partial<Record<Blame, number>> {
  const usageByCategory: Partial<Record<Blame, number>> = {};
  for (const { blame, asked } of usage)
    if (blame !== undefined && !asked) usageByCategory[blame] = (usageByCategory[blame] ?? 0) + 1;
  return usageByCategory;
}

/** A request of a person: through an update, a signal, or the need-recovery label. */
export interface RecoveryRequest {
  readonly by: string;
  readonly reason: string;
  /** Set while the label is still on the job: it is removed before anything is done. */
  readonly label?: true;
  /** Set when it came by label, also after the label was removed. */
  readonly byLabel?: true;
}

/** The incident that is open now. */
export interface OpenIncident {
  readonly incident: string;
  readonly since: number;
  /** Whether its recovery was started. */
  readonly started: boolean;
  readonly askedBy?: RequestedBy;
}

/** Who asked for a recovery, and whether by label. */
export interface RequestedBy extends OperatorRequest {
  readonly byLabel?: true;
}

/** What `decideIncident` looks at. */
export interface IncidentFacts {
  readonly job: JobRef;
  readonly faults: readonly Fault[];
  readonly askedBy?: RequestedBy;
  readonly usage: readonly BudgetEntry[];
  /** How far training is now, where the job reports it. */
  readonly progress?: JobProgress;
  /** RFC 3339: pods created before it belong to an attempt that was stopped. */
  readonly attemptStartedAt?: string;
  /** RFC 3339: failures before it are history. */
  readonly optedInAt: string;
  /** RFC 3339: failures before it predate kcover's supervision of the job. */
  readonly historyUntil?: string;
  /** The job's overrides. */
  readonly overrides?: Pick<JobOverrides, 'retries' | 'hang' | 'suppression'>;
  /** A person has paused this job. */
  readonly paused?: OperatorRequest;
  /** When the oldest of the faults reached the job, ms. */
  readonly since: number;
  readonly now: number;
}

/** Open an incident, wait, refuse until a time, or dismiss faults. */
export type IncidentDecision = Decided & {
  /** Fault ids that need no recovery, each with its reason. */
  readonly dismissed: readonly {
    readonly id: string;
    readonly because: string;
    /** Set when an Event reports it: for what. */
    readonly notify?: 'hang' | 'slow' | 'line' | 'history';
  }[];
  /** Faults of nodes that explain the failures of pods, and that the job was not notified of. */
  readonly found?: readonly Fault[];
} & (
    | { readonly kind: 'open'; readonly limits: RecoveryLimits; readonly attribution?: BudgetAttribution }
    | { readonly kind: 'wait'; readonly until: number }
    /** `request`: only the request by label is refused; the faults are decided without it. */
    | { readonly kind: 'refuse'; readonly until: number; readonly remedy: string; readonly request?: true }
    | { readonly kind: 'nothing' }
    /** A person has paused the job; waiting faults are decided when it is resumed. */
    | { readonly kind: 'paused' }
  );

/** Answer of the update `recoverNow`. */
export interface RecoverAnswer {
  readonly incident: string;
}

/** Answer of the `status` query of a job. */
export interface JobStatus {
  readonly job: JobRef;
  readonly phase: 'starting' | 'watching' | 'waiting' | 'paused' | 'refused' | 'recovering' | 'stuck' | 'ended';
  readonly because: string;
  readonly waitingFor: string;
  readonly since: string;
  readonly until?: string;
  readonly incident?: string;
  readonly last?: {
    readonly incident: string;
    readonly outcome: Outcome;
    readonly because: string;
    readonly at: string;
  };
  readonly recoveriesThisHour: number;
  /** The same by blame, without those requested by a person and those of unknown blame. */
  readonly usageByCategory?: Readonly<Partial<Record<Blame, number>>>;
  /** All entries that may still count, for any budget window. */
  readonly usage?: readonly BudgetEntry[];
  readonly dropped: number;
  readonly paused?: OperatorRequest;
}

/** Result of `trainingJob`. */
export interface JobOutcome {
  readonly job: JobRef;
  readonly outcome: 'gone' | 'succeeded' | 'failed' | 'opted-out';
  readonly because: string;
}
