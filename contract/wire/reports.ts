/** What an agent sends to the controller over HTTPS: `POST /v1/reports`. */

import type { Fault } from '../faults/faults.ts';
import type { NodeNotice } from '../node/notice.ts';
import type { WantedLog } from '../progress/logs.ts';

/** Audience of an agent's projected token; no other token is accepted. */
export const agentAudience = 'kcover-controller';

export const reportPath = '/v1/reports';

/** Most bytes of one request. */
export const reportBodyLimit = 1024 * 1024;

/** One line of the agent's spool. */
export interface Report {
  /** Increases by one within a spool stream. */
  readonly seq: number;
  readonly fault: Fault;
}

/** What an agent can lose. `report-refused`: the controller will never accept this report. */
export const gapKinds = [
  'kernel-log-overrun',
  'spool-full',
  'spool-unwritable',
  'state-lost',
  'report-refused',
] as const;

/** The agent lost something, and reports it. */
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
  /** Random id of the spool; a new one after the spool was lost. */
  readonly stream: string;
  readonly reports: readonly Report[];
  readonly gaps: readonly Gap[];
}

/** Answer 202: Temporal has everything up to `accepted`, which may be deleted. */
export interface ReportAnswer {
  readonly accepted: number;
  /** The logs of the node that the agent follows from now on. */
  readonly follow: readonly WantedLog[];
  /** What kcover thinks of the node; missing while the controller does not see it. */
  readonly node?: NodeNotice;
}

/** Why a request was rejected, with the HTTP status; counted under these names. */
export const rejections = {
  malformed: 400,
  unauthenticated: 401,
  'other-account': 403,
  'other-node': 403,
  'dead-pod': 403,
  'not-testing': 403,
  'other-size': 409,
  'too-large': 413,
  /** None of the reports of another program can be used. */
  'not-usable': 422,
  /** `Retry-After` says when to try again. The request was not read. */
  'too-many': 429,
  'no-such-path': 404,
  'not-leading': 503,
  'temporal-unreachable': 503,
  'kube-unreachable': 503,
} as const;
export type Rejection = keyof typeof rejections;
