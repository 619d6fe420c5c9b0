/** The workflow that looks after one training job: its input, state and answers. */

import type { Blame, Fault } from './faults.ts';
import type { JobOverrides } from './job-overrides.ts';
import type { JobRef } from './jobs.ts';
import type { OperatorRequest } from './messages.ts';
import type { JobProgress } from './progress.ts';
import type { Outcome } from './outcomes.ts';
import type { Decided, RecoveryLimits } from './recovery.ts';

/** Failures so long before the first run for a job are history, ms: time enough for a workflow that is started because of them. */
export const historyMs = 10 * 60_000;

/** Input of `trainingJob`. */
export interface JobInput {
  readonly job: JobRef;
  readonly continued?: ContinuedJob;
}

/** What a recovery is charged to. Everything may be missing: earlier versions, and a job's workflow that starts anew, do not know it. */
export interface BudgetAttribution {
  /** Missing when nobody knows; then it counts against every ledger, but never for more than `recoveries` of the settings. */
  readonly blame?: Blame;
  /** A person asked for it: it counts against nobody, and ends a row of crashes. */
  readonly asked?: true;
  /** It was asked for by the need-recovery label, which whoever may change the job may set: such recoveries have a ledger of their own. */
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

/** How many recoveries each ledger has; those that a person asked for and those of which nobody knows count in none. */
export function usageByCategoryOf(usage: readonly BudgetAttribution[]): Partial<Record<Blame, number>> {
  const usageByCategory: Partial<Record<Blame, number>> = {};
  for (const { blame, asked } of usage) if (blame !== undefined && !asked) usageByCategory[blame] = (usageByCategory[blame] ?? 0) + 1;
  return usageByCategory;
}

/** A request of a person: through an update, a signal, or the need-recovery label. */
export interface RecoveryRequest {
  readonly by: string;
  readonly reason: string;
  /** Set when it came by label: the label is removed before anything is done. */
  readonly label?: true;
  /** Set when it came by label, also after that was removed. */
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

/** What survives continue-as-new. Bounded: inbox and seen ids are capped. */
export interface ContinuedJob {
  readonly optedInAt: string;
  /** RFC 3339: what failed before it was there when the first run began, and is history. */
  readonly historyUntil?: string;
  readonly inbox: readonly Fault[];
  readonly requests: readonly RecoveryRequest[];
  readonly open?: OpenIncident;
  readonly usage: readonly BudgetEntry[];
  readonly seen: readonly string[];
  readonly attemptStartedAt?: string;
  readonly last?: { readonly incident: string; readonly outcome: Outcome; readonly because: string; readonly at: string };
  readonly dropped: number;
  readonly paused?: OperatorRequest;
  /** What the job asked for when it was last read. */
  readonly overrides?: Pick<JobOverrides, 'retries' | 'hang'>;
}

/** What `decideIncident` looks at. */
export interface IncidentFacts {
  readonly job: JobRef;
  readonly faults: readonly Fault[];
  readonly askedBy?: RequestedBy;
  readonly usage: readonly BudgetEntry[];
  /** How far training is now, where the job tells. */
  readonly progress?: JobProgress;
  /** RFC 3339: pods created before it belong to an attempt that was stopped. */
  readonly attemptStartedAt?: string;
  /** RFC 3339: what ended before it is history. */
  readonly optedInAt: string;
  /** RFC 3339: what failed before it was there when kcover began to look after the job. */
  readonly historyUntil?: string;
  /** What the job asks for. */
  readonly overrides?: Pick<JobOverrides, 'retries' | 'hang'>;
  /** A person has paused this job. */
  readonly paused?: OperatorRequest;
  /** When the oldest of the faults reached the job, ms. */
  readonly since: number;
  readonly now: number;
}

/** Open an incident, wait, refuse until a time, or set faults aside. */
export type IncidentDecision = Decided & {
  /** Fault ids that need nothing, each with its reason. */
  readonly dismissed: readonly {
    readonly id: string;
    readonly because: string;
    /** People are to hear of it, as of this. */ readonly notify?: 'hang' | 'history';
  }[];
} & (
    | { readonly kind: 'open'; readonly limits: RecoveryLimits; readonly attribution?: BudgetAttribution }
    | { readonly kind: 'wait'; readonly until: number }
    /** `request`: only the request by label is refused; faults are judged without it. */
    | { readonly kind: 'refuse'; readonly until: number; readonly remedy: string; readonly request?: true }
    | { readonly kind: 'nothing' }
    /** A person has paused the job; what waits is judged anew when it goes on. */
    | { readonly kind: 'paused' }
  );

/** Answer of the updates `recoverNow`. */
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
  readonly last?: { readonly incident: string; readonly outcome: Outcome; readonly because: string; readonly at: string };
  readonly recoveriesThisHour: number;
  /** The same by blame, without those that a person asked for and those of which nobody knows. */
  readonly usageByCategory?: Readonly<Partial<Record<Blame, number>>>;
  /** All that may still count, whatever the window of the settings; missing from a worker of an earlier version. */
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
