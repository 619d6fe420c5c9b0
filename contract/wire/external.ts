/** What others report about nodes over HTTPS: `POST /v1/external`, and a path for each format of theirs that is mapped to it. */

import type { Action } from '../faults/action.ts';

export const externalPath = '/v1/external';

/** Formats of others, each on a path of its own below `externalPath`. */
export const externalFormats = ['alertmanager', 'nvsentinel', 'mindcluster'] as const;
export type ExternalFormat = (typeof externalFormats)[number];

export const externalStates = ['occur', 'recover', 'once'] as const;

export const externalLimits = {
  /** Reports of one request, after its format was mapped. */
  reports: 1000,
  /** Without the prefix `external/`. */
  code: 48,
  device: 64,
  sender: 40,
  source: 64,
  text: 500,
} as const;

/** One report. Its identity is its content: node, code and device; an id of its sender is not kept, because some make a new one each time. */
export interface ExternalReport {
  /** What noticed it, such as the name of a tool. */
  readonly source: string;
  readonly node: string;
  /** Becomes the code `external/<code>`. */
  readonly code: string;
  readonly device?: string;
  /** What the sender asks for; counts only where its settings allow it. */
  readonly action?: Action;
  /** `once`: an event that has no end. `recover` releases nothing. */
  readonly state: (typeof externalStates)[number];
  /** RFC 3339: when it began, or ended. */
  readonly at: string;
  readonly text: string;
}

/** What could not be read as a report. */
export interface UnusableReport {
  readonly what: string;
  readonly because: string;
}

/** Answer 202: Temporal has every fault that is counted as accepted. */
export interface ExternalAnswer {
  readonly accepted: number;
  /** Accepted before. */
  readonly repeated: number;
  /** Said to be over: recorded, and nothing is released. */
  readonly recovered: number;
  /** Too old to act on. */
  readonly history: number;
  /** Not used; the first of them with the reason. */
  readonly unusable: number;
  readonly because?: readonly UnusableReport[];
}
