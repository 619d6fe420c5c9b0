/** What one condition of a Node object says: a fault, nothing, or that its writer cannot see. */

import { faultLimits } from '../../contract/faults/faults.ts';
import type { Finding, Unobserved } from '../finding.ts';
import { foreignText } from '../foreign-text.ts';
import { eksVerdict, cannotSee } from './eks.ts';
import type { SeenCondition, SeenNode } from './node-object.ts';
import { isCheck, nvsentinelVerdicts } from './nvsentinel.ts';
import { type ConditionRow, rowFor } from './row.ts';
import { conditionTable, nvsentinelCheck } from './table.ts';
import type { Verdict } from './verdict.ts';

/** How conditions are read at this site. */
export interface ConditionRules {
  readonly rows: readonly ConditionRow[];
  /** EKS node repair or Karpenter replaces nodes for their conditions, so jobs must leave such a node whatever the condition means. */
  readonly nodesAreReplaced: boolean;
}

export const defaultRules: ConditionRules = { rows: conditionTable, nodesAreReplaced: false };

/** A fault for as long as its condition stays as it is. */
export interface StandingFault {
  readonly finding: Finding;
  /** The end of its id: the same while it stands, and another one when it comes back. */
  readonly key: string;
  /** When it began, RFC 3339; absent where the object does not say it. */
  readonly since?: string;
  /** RFC 3339: from then on its node may be replaced. */
  readonly deadline?: string;
  /** How long it must stand before it counts, ms; absent: as the settings say. */
  readonly debounceMs?: number;
}

export interface Reading {
  readonly faults: readonly StandingFault[];
  readonly unobservable: readonly Unobserved[];
}

const nothing: Reading = { faults: [], unobservable: [] };

/** What a code may contain: it is also a value of labels and of metrics. */
const usableType = /^[A-Za-z](?:[\w./-]{0,48}[A-Za-z0-9])?$/;

export function readCondition(seen: SeenCondition, { name }: Pick<SeenNode, 'name'>, rules: ConditionRules): Reading {
  const { type, status, reason, message, transition } = seen;
  const row = rowFor(type, rules.rows) ?? (isCheck(type, reason) ? nvsentinelCheck : undefined);
  if (!row) return nothing;
  const cannot = (because: string): Reading => ({
    faults: [],
    unobservable: [{ source: 'condition', what: foreignText(type, 60), node: name, because }],
  });
  if (!usableType.test(type)) return cannot('its type has more than 50 characters, or some that no code may have');
  if (status === 'Unknown' || status === 'other')
    return cannot(`${row.owner} reports ${status === 'other' ? 'no usable status' : status}${said(reason, message)}`);
  if (status !== row.bad) return nothing;
  const isReplaced = rules.nodesAreReplaced && row.replacedAfterMs !== undefined;
  const isObserverLost = row.observerLost === true || (row.replacedAfterMs !== undefined && cannotSee(reason));
  if (isObserverLost && !isReplaced)
    return cannot(`${row.owner} reports that ${row.observerLost ? row.meaning : 'DCGM cannot be reached'}`);
  const deadline = deadlineOf(row, transition);
  const faults = verdictsOf(seen, row).map((verdict) => ({
    finding: findingOf(seen, deadline, name, isReplaced ? whileReplaced(verdict, type) : verdict),
    key: keyOf(seen, verdict),
    ...(deadline !== undefined && { deadline }),
    ...(isTime(transition) && { since: transition }),
    ...(row.debounceMs !== undefined && { debounceMs: row.debounceMs }),
  }));
  return { faults, unobservable: [] };
}

function verdictsOf({ type, reason, message }: SeenCondition, row: ConditionRow): readonly Verdict[] {
  const { owner, meaning, action } = row;
  if (owner === 'NVSentinel') return nvsentinelVerdicts(type, row, message);
  if (owner === 'EKS node monitoring agent' && type === 'AcceleratedHardwareReady')
    return [eksVerdict(type, reason, message)];
  const source =
    action === undefined
      ? 'its writer has not examined the hardware, so nothing is done by default'
      : action === 'ignore'
        ? 'it is a state and no fault'
        : `kcover says ${action}`;
  const because = `${owner}: ${meaning}; ${source}`;
  return [{ code: `condition/${type}`, ...(action !== undefined && { action }), message, because }];
}

/** The node goes within minutes, so what would only be recorded or warned about moves the jobs too. */
function whileReplaced(verdict: Verdict, type: string): Verdict {
  const { action, because, message } = verdict;
  if (action !== undefined && action !== 'ignore' && action !== 'restart-app') return verdict;
  return {
    code: `condition/${type}`,
    action: 'reboot',
    message,
    because: `${because}; the node is about to be replaced for it, so jobs leave it`,
  };
}

/** `verdict`: where a condition may give several, or another one before its next transition. */
export const keyOf = (
  { type, transition }: SeenCondition,
  verdict?: Pick<Verdict, 'code' | 'device' | 'cause'>,
): string =>
  [
    type.slice(0, 60),
    transition,
    ...(verdict === undefined || verdict.code === `condition/${type}` ? [] : [verdict.code]),
    ...(verdict?.cause === undefined ? [] : [verdict.cause]),
    ...(verdict?.device === undefined ? [] : [verdict.device]),
  ].join('/');

function findingOf(seen: SeenCondition, deadline: string | undefined, node: string, verdict: Verdict): Finding {
  const { type, status, reason, transition } = seen;
  const { code, action, standing, device, because } = verdict;
  const since = transition === '' ? '' : ` since ${transition}`;
  const why = reason === '' ? '' : ` (${reason})`;
  const replaced =
    deadline === undefined
      ? ''
      : `; EKS node repair and Karpenter, where they are on, replace the node from ${deadline} on`;
  const said = verdict.message === '' ? '' : `: ${verdict.message}`;
  const text = `${type} is ${status}${since}${why}${replaced}${said}`;
  return {
    source: 'condition',
    code,
    node,
    ...(device !== undefined && { device }),
    ...(action !== undefined && { action }),
    ...(standing !== undefined && { standing }),
    message: foreignText(text, faultLimits.message),
    because: foreignText(because, faultLimits.message),
  };
}

function deadlineOf({ replacedAfterMs }: ConditionRow, transition: string): string | undefined {
  if (replacedAfterMs === undefined || !isTime(transition)) return undefined;
  return new Date(Date.parse(transition) + replacedAfterMs).toISOString().replace('.000Z', 'Z');
}

const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT[\d:.]{8,16}Z$/.test(text) && !Number.isNaN(Date.parse(text));

const said = (reason: string, message: string): string => {
  const text = foreignText([reason, message].filter(Boolean).join(': '), 200);
  return text === '' ? '' : ` (${text})`;
};
