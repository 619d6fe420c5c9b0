/** The source of kernel lines: the device, or a plain file in its place. */

export interface LogLine {
  /** As in the log. */
  readonly raw: string;
  readonly sequence: number;
}

/** Result of one read. */
export type LogRead =
  | {
      readonly kind: 'lines';
      readonly lines: readonly LogLine[];
      /** Where the next read begins; stored for a restart. */
      readonly next: number;
      /** More lines are available. */
      readonly more: boolean;
      /** Lines that were overwritten before they were read. */
      readonly lost?: number | 'unknown';
    }
  /** The file was truncated or replaced: it starts again. */
  | { readonly kind: 'restarted' };

export interface LogSource {
  look(): Promise<LogRead>;
  close(): Promise<void>;
}

/** Begin at a sequence, or after everything that is there now. */
export type Begin = number | 'end';
