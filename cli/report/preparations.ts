/** Sections of the report about the steps before a stop: approvals, checkpoints and capacity. Pure. */

import type { OperatorAnswer } from '../../contract/recovery/plan.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { type Block, type Line, list } from './page.ts';

export const approvalsOf = ({ approvals = [] }: IncidentRecord): Block[] => [list(approvals.map(answerOf))];

const answerOf = ({ question, approved, by, reason, at }: OperatorAnswer): Line => [
  `${at} `,
  { strong: approved ? 'approved' : 'denied' },
  ` by ${by}: ${reason}${question === undefined ? '' : ` (${question})`}`,
];

export const checkpointsOf = ({ checkpoints = [] }: IncidentRecord): Block[] => [
  list(checkpoints.map((one) => [`Attempt ${one.attempt}: `, { strong: one.kind }, `${waited(one)}: ${one.because}`])),
];

const waited = (one: NonNullable<IncidentRecord['checkpoints']>[number]): string =>
  'waitedMs' in one ? ` after ${formatDuration(one.waitedMs)}` : '';

export const capacityDecisionsOf = ({ capacity = [], pods }: IncidentRecord): Block[] => [
  list([
    ...capacity.map(({ at, kind, because }): Line => [
      `${new Date(at).toISOString()} `,
      { strong: kind },
      `: ${because}`,
    ]),
    ...(pods ? [[`It went on with ${pods.after} pods instead of ${pods.before}.`]] : []),
  ]),
];
