/** Sections of the report about the steps before a stop: approvals, checkpoints and capacity. Pure. */

import type { OperatorAnswer } from '../../contract/recovery/plan.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { list, plain } from './markdown.ts';

export const approvalsOf = ({ approvals = [] }: IncidentRecord): string | undefined =>
  approvals.length === 0 ? undefined : list(approvals.map(answerOf));

const answerOf = ({ question, approved, by, reason, at }: OperatorAnswer): string =>
  `${plain(at)} **${approved ? 'approved' : 'denied'}** by ${plain(by)}: ${plain(reason)}${question === undefined ? '' : ` (${plain(question)})`}`;

export const checkpointsOf = ({ checkpoints = [] }: IncidentRecord): string | undefined =>
  checkpoints.length === 0
    ? undefined
    : list(checkpoints.map((one) => `Attempt ${one.attempt}: **${one.kind}**${waited(one)}: ${plain(one.because)}`));

const waited = (one: NonNullable<IncidentRecord['checkpoints']>[number]): string =>
  'waitedMs' in one ? ` after ${formatDuration(one.waitedMs)}` : '';

export function capacityDecisionsOf({ capacity = [], pods }: IncidentRecord): string | undefined {
  if (capacity.length === 0 && !pods) return undefined;
  const decided = capacity.map(
    ({ at, kind, because }) => `${new Date(at).toISOString()} **${kind}**: ${plain(because)}`,
  );
  return list([...decided, ...(pods ? [`It went on with ${pods.after} pods instead of ${pods.before}.`] : [])]);
}
