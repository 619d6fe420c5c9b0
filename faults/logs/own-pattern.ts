/** A pattern of a user for lines of a log. */

/** A compiled pattern: its time is at most in proportion to the length of the line. `readOwnPattern` makes it of text. */
export interface OwnPattern {
  readonly source: string;
  /** Value of its named group in the line; undefined when it does not match. */
  find(line: string): string | undefined;
}
