/** Everything that a plan is made from. `kcover plan --output json` prints it, and `--facts` takes it back. */

import type { Fault } from '../../contract/faults.ts';
import type { JobView } from '../../contract/jobs.ts';
import type { CapacityFacts } from '../../contract/recovery-plan.ts';
import type { OperatorRequest } from '../../contract/messages.ts';
import type { AttemptFacts } from '../../contract/recovery.ts';
import type { BudgetEntry } from '../../contract/training-job.ts';

export interface PlanInput {
  readonly schema: 1;
  /** RFC 3339: when it was read. */
  readonly at: string;
  /** The worker's settings as a file has them; what is left out has its default. */
  readonly settings: unknown;
  /** Job, pods and nodes, as the worker looks at them. */
  readonly attempt: AttemptFacts & { readonly job: JobView };
  readonly known: KnownFacts;
  /** A fault that nobody has seen: what would be done if somebody did. */
  readonly hypothetical?: Fault;
  /** Missing where nobody looked. */
  readonly capacity?: CapacityFacts;
  /** Where the job may be made smaller: the capacity for all pods, beside that for the broken pods alone. */
  readonly capacityOfAll?: CapacityFacts;
  /** What could not be asked, a sentence each. */
  readonly unseen: readonly string[];
}

/** What the workflows of the job know. */
export interface KnownFacts {
  /** Faults that no stop has answered yet. */
  readonly fresh: readonly Fault[];
  /** Faults that an earlier stop of the open recovery answered. */
  readonly handled: readonly Fault[];
  readonly usage: readonly BudgetEntry[];
  /** RFC 3339: pods created before it belong to an attempt that was stopped. */
  readonly attemptStartedAt?: string;
  /** RFC 3339: pods that failed before it were there when kcover began to look after the job. */
  readonly historyUntil?: string;
  /** A person has paused this job. */
  readonly paused?: OperatorRequest;
  /** The recovery that is open now. */
  readonly open?: { readonly incident: string; readonly stops: number; readonly attempts: number; readonly asked: boolean };
}

/** A job of which Temporal knows nothing. */
export const nothingKnown: KnownFacts = { fresh: [], handled: [], usage: [] };
