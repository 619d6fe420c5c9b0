import { formatDuration } from '../../contract/settings/duration.ts';
import { workerSettings } from '../../contract/settings/settings.schema.ts';
import type { ConditionRow } from '../../faults/conditions/row.ts';
import { conditionTable } from '../../faults/conditions/table.ts';
import { responseTo } from '../../policy/node/node.ts';
import { generated, markdownTable } from './markdown.ts';

const settings = workerSettings.parse({});

/** Every row of the table of node conditions, with the response by default. */
export const conditionsPage = (): string =>
  [
    generated('faults/conditions/table.ts'),
    '# Node conditions',
    'Conditions of other components that kcover reads, and what they lead to with default settings: [node conditions](../node-conditions.md). A type that ends with `*` stands for every type that begins so.',
    markdownTable(
      ['condition', 'bad', 'writer', 'meaning', 'action', 'response', 'notes'],
      conditionTable.map((row) => [
        `\`${row.type}\``,
        row.bad,
        row.owner,
        row.meaning,
        actionOf(row),
        responseOf(row),
        notesOf(row),
      ]),
    ),
  ].join('\n\n') + '\n';

/** By its reason or its message, where the writer says more. */
const isOfMessage = ({ owner, type, observerLost }: ConditionRow): boolean =>
  observerLost !== true && (owner === 'NVSentinel' || type === 'AcceleratedHardwareReady');

const actionOf = (row: ConditionRow): string =>
  isOfMessage(row) ? `as its ${row.owner === 'NVSentinel' ? 'message' : 'reason'} says` : (row.action ?? '');

function responseOf(row: ConditionRow): string {
  if (row.observerLost) return 'none: unobservable';
  return isOfMessage(row)
    ? 'by action'
    : responseTo({ source: 'condition', code: `condition/${row.type}`, ...actionIn(row) }, settings);
}

const actionIn = ({ action }: ConditionRow) => (action === undefined ? {} : { action });

const notesOf = ({ debounceMs, replacedAfterMs }: ConditionRow): string =>
  [
    ...(debounceMs === undefined ? [] : [`must stay bad for ${formatDuration(debounceMs)}`]),
    ...(replacedAfterMs === undefined
      ? []
      : [`EKS and Karpenter replace the node after ${formatDuration(replacedAfterMs)}`]),
  ].join('; ');
