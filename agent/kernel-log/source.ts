/** Where kernel lines come from: the device, or a plain file that stands in for it. */

export interface LogLine {
  /** As it stands in the log. */
  readonly raw: string;
  readonly sequence: number;
}

/** What one look brought. */
export type LogRead =
  | {
      readonly kind: 'lines';
      readonly lines: readonly LogLine[];
      /** Where the next look begins; what a restart needs to know. */
      readonly next: number;
      /** More is there already. */
      readonly more: boolean;
      /** Lines that were overwritten before they were read. */
      readonly lost?: number | 'unknown';
    }
  /** The file was cut short or replaced: it begins again. */
  | { readonly kind: 'restarted' };

export interface LogSource {
  look(): Promise<LogRead>;
  close(): Promise<void>;
}

/** Begin at a sequence, or after everything that is there now. */
export type Begin = number | 'end';
