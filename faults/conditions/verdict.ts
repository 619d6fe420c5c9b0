/** What a bad condition says: one verdict for each device that it names. */

import type { Action, Standing } from '../../contract/faults/faults.ts';

export interface Verdict {
  readonly code: string;
  readonly action?: Action;
  readonly standing?: Standing;
  /** PCI address, or the name of the device. */
  readonly device?: string;
  /** What tells it from the next one of the same condition, where code and device do not. */
  readonly cause?: string;
  /** The part of the message that is about it. */
  readonly message: string;
  /** One sentence: what the code means, and where the action comes from. */
  readonly because: string;
}
