/** Input of a plan. `kcover plan --output json` prints it, and `--facts` reads it. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';
import type { BudgetEntry } from '../../contract/job/training-job.ts';

export interface PlanInput {
  readonly schema: 1;
  /** RFC 3339: when it was read. */
  readonly at: string;
  /** The worker's settings in the form of its file; missing keys have their defaults. */
  readonly settings: unknown;
  /** Job, pods and nodes, as the worker reads them. */
  readonly attempt: AttemptFacts & { readonly job: JobView };
  readonly known: KnownFacts;
  /** An assumed fault; the plan shows the response to it. */
  readonly hypothetical?: Fault;
  /** Missing when capacity was not read. */
  readonly capacity?: CapacityFacts;
  /** Capacity for all pods, in addition to that for the broken pods. Only where the job may be resized. */
  readonly capacityOfAll?: CapacityFacts;
  /** Facts that could not be read, one sentence each. */
  readonly unseen: readonly string[];
}

/** State of the job's workflows. */
export interface KnownFacts {
  /** Faults that arrived after the last stop. */
  readonly fresh: readonly Fault[];
  /** Faults of nodes that explain failures of pods among `fresh`, and that the job was not notified of. */
  readonly found?: readonly Fault[];
  /** Faults that arrived before the last stop of the open recovery. */
  readonly handled: readonly Fault[];
  readonly usage: readonly BudgetEntry[];
  /** RFC 3339: pods created before it belong to an attempt that was stopped. */
  readonly attemptStartedAt?: string;
  /** RFC 3339: failures before it happened before kcover first observed the job. */
  readonly historyUntil?: string;
  /** A person has paused this job. */
  readonly paused?: OperatorRequest;
  /** The open recovery. */
  readonly open?: {
    readonly incident: string;
    readonly stops: number;
    readonly attempts: number;
    readonly asked: boolean;
  };
}

/** State of a job that has no workflow. */
export const nothingKnown: KnownFacts = { fresh: [], handled: [], usage: [] };
