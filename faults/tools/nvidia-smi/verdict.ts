/** A fault, by its code and the reason of its action. */
export interface FieldFault {
  readonly code: string;
  readonly because: string;
  readonly standing?: 'unknown';
}

/** What the text of one field says: nothing is wrong, nothing that can be used, or a fault. */
export type Verdict = 'fine' | 'unknown' | FieldFault;
