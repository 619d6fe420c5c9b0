/** Input, state and answers of the workflow of a preflight, which handles one run after the other. */

import type { CollectedReport, PreflightDecision, TestingPod, Workload } from './preflight.ts';
import type { RefusedReport } from './files.ts';

/** Signal `reportsArrived`, to the workflow of a workload. */
export interface ReportsArrived {
  readonly reports: readonly CollectedReport[];
  readonly refused: readonly RefusedReport[];
}

/**
 * Signal-with-start `podsTesting`, to the same workflow: a set of pods is testing, and reports should follow. It names the oldest pod of the
 * set and precedes every report of the set: pods created before belong to an earlier set.
 */
export interface PodsTesting {
  readonly pod: TestingPod;
}

/** Input of `preflight`. */
export interface PreflightInput {
  readonly workload: Workload;
}

/** One run that is over. */
export interface PreflightRun {
  readonly run: number;
  readonly startedAt: string;
  readonly endedAt: string;
  /** `superseded`: newer pods, or pods of another layout, reported before it was complete. */
  readonly outcome: 'judged' | 'expired' | 'superseded';
  readonly received: number;
  readonly expected: number;
  readonly because: string;
  readonly verdict?: Pick<
    PreflightDecision,
    'rule' | 'failed' | 'slow' | 'undetermined' | 'counts' | 'confidence' | 'missing'
  >;
  /** Slow or failed nodes whose workflows could not be notified: there is no response for them. At most 50; `because` says why. */
  readonly unnotified?: readonly string[];
}

/** Answer of the `status` query. */
export interface PreflightStatus {
  readonly workload: Workload;
  readonly phase: 'collecting' | 'judging' | 'waiting' | 'ended';
  /** Of the run that collects, or the last. */
  readonly run: number;
  readonly received: number;
  readonly expected: number;
  /** At most 50. */
  readonly missing: readonly number[];
  readonly because: string;
  readonly waitingFor: string;
  readonly since: string;
  readonly until?: string;
  readonly last?: PreflightRun;
  /** The newest 20. */
  readonly refused: readonly RefusedReport[];
  readonly dropped: number;
}

/** Result of `preflight`. */
export interface PreflightOutcome {
  readonly workload: Workload;
  readonly outcome: 'gone' | 'finished';
  readonly because: string;
  readonly runs: number;
}

/** Value of the annotation that a verdict leaves on the job. */
export interface PreflightNote {
  readonly run: number;
  readonly at: string;
  readonly outcome: PreflightRun['outcome'];
  readonly slow: readonly string[];
  readonly failed: readonly string[];
  readonly undetermined: number;
  readonly confidence: number;
  readonly received: number;
  readonly expected: number;
}
