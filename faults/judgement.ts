/** What is decided about a line of a driver. */

import type { Action, Standing } from '../contract/faults.ts';

export interface FaultJudgement {
  /** Of the catalogue; `unknown` for numbers it does not know. */
  readonly severity: string;
  readonly action: Action;
  readonly standing: Standing;
  /** One sentence: the code, what it is, and who says what to do. */
  readonly because: string;
}
