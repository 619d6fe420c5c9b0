/** Whether another fault explains a fault. Pure. */

import type { Fault } from '../../../contract/faults/faults.ts';
import type { NodeHistory } from '../../../contract/node/history.ts';
import type { WorkerSettings } from '../../../contract/settings/settings.schema.ts';
import type { HistoryEntry } from '../history.ts';
import { responseTo, strengthOf } from '../response.ts';
import { type ConsequenceRule, matches, type Rule } from './rule.ts';

interface Around {
  readonly settings: WorkerSettings;
  readonly rules: readonly Rule[];
  /** All that is judged at once: the cause may be the later line. */
  readonly batch: readonly HistoryEntry[];
}

/** The rule that names a cause. A fault with a response of its own in the settings, or a stronger one than its cause, is never explained away. */
export function causeOf(
  fault: Fault,
  entry: HistoryEntry,
  history: NodeHistory,
  { settings, rules, batch }: Around,
): ConsequenceRule | undefined {
  if (settings.faults.codes[fault.code] !== undefined) return undefined;
  const own = strengthOf(responseTo(fault, settings));
  const around = [...history, ...batch.map(({ at, ...key }) => ({ ...key, first: at, last: at }))].filter(
    (cause) => cause.explained === undefined && cause.code !== fault.code,
  );
  return rules
    .filter((rule) => rule.kind === 'consequence')
    .find(
      (rule) =>
        matches(rule.of, entry) &&
        around.some(
          (cause) =>
            matches(rule.causes, cause) &&
            isThere(rule, cause.device, entry.device) &&
            cause.last >= entry.at - rule.within &&
            cause.first <= entry.at + rule.within &&
            strengthOf(responseTo(cause, settings)) >= own,
        ),
    );
}

function isThere({ on }: ConsequenceRule, cause: string | undefined, device: string | undefined): boolean {
  if (on === 'node') return true;
  return cause !== undefined && device !== undefined && (cause === device) === (on === 'device');
}
