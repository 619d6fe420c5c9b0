/** The assessment of a driver line. */

import type { Action, Standing } from '../../contract/faults/faults.ts';

export interface FaultJudgement {
  /** From the catalogue; `unknown` for numbers that it lacks. */
  readonly severity: string;
  readonly action: Action;
  readonly standing: Standing;
  /** One sentence: the code, its name, and the source of the action. */
  readonly because: string;
}
