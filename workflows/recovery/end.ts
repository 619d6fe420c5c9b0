import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { Outcome } from '../../contract/recovery/outcomes.ts';
import type { OperatorAnswer } from '../../contract/recovery/plan.ts';

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

export const refusal = ({ by, reason }: OperatorAnswer): End => ({
  outcome: 'refused',
  because: `denied by ${by}: ${reason}`,
});

/** The job runs again. */
export const isGood = ({ outcome }: Pick<End, 'outcome'>): boolean =>
  outcome === 'restarted' || outcome === 'recovered';
