/** What an agent sends to the controller over HTTPS: `POST /v1/reports`. */

import type { Fault } from './faults.ts';

/** Audience of the projected token that an agent shows; no other token is taken. */
export const agentAudience = 'kcover-controller';

export const reportPath = '/v1/reports';

/** Bytes that one request may have. */
export const reportBodyLimit = 1024 * 1024;

/** One line of the agent's spool. */
export interface Report {
  /** Grows by one within a spool stream. */
  readonly seq: number;
  readonly fault: Fault;
}

/** What an observer can miss. `report-refused`: the controller will never take this report. */
export const gapKinds = ['kernel-log-overrun', 'spool-full', 'spool-unwritable', 'state-lost', 'report-refused'] as const;

/** The observer missed something, and says so. */
export interface Gap {
  readonly seenAt: string;
  readonly what: (typeof gapKinds)[number];
  readonly lost: number | 'unknown';
}

/** A batch; with no reports and no gaps it is a heartbeat. */
export interface ReportBatch {
  readonly schema: 1;
  readonly node: string;
  readonly bootId: string;
  /** Random id of the spool: a new one after the spool was lost. */
  readonly stream: string;
  readonly reports: readonly Report[];
  readonly gaps: readonly Gap[];
}

/** Answer 202: everything up to `accepted` is with Temporal and may be forgotten. */
export interface ReportAnswer {
  readonly accepted: number;
}

/** Why a request was not taken; counted under these names. */
export const rejections = {
  malformed: 400,
  unauthenticated: 401,
  'other-account': 403,
  'other-node': 403,
  'dead-pod': 403,
  'not-testing': 403,
  'other-size': 409,
  'too-large': 413,
  /** Later; `Retry-After` says when. Nothing of the request was looked at. */
  'too-many': 429,
  'no-such-path': 404,
  'not-leading': 503,
  'temporal-unreachable': 503,
  'kube-unreachable': 503,
} as const;
export type Rejection = keyof typeof rejections;
