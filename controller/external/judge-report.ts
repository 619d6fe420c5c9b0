/** What becomes of one report of others: a fault, a record, or nothing. Pure. */

import { createHash } from 'node:crypto';
import { type Fault, faultLimits } from '../../contract/faults/faults.ts';
import type { ExternalReport } from '../../contract/wire/external.ts';
import type { ExternalSender } from '../../contract/settings/external.schema.ts';
import { foreignText } from '../../faults/foreign-text.ts';

/** What a sender may report. */
export type SenderRules = Pick<ExternalSender, 'name' | 'codes' | 'actions' | 'actionOf'>;

export type ReportVerdict =
  | { readonly kind: 'fault' | 'recovered'; readonly node: string; readonly fault: Fault }
  | { readonly kind: 'history' | 'unusable'; readonly because: string };

export interface ReportFacts {
  /** UTC, ms. */
  readonly now: number;
  readonly freshMs: number;
  readonly hasNode: boolean;
}

/** Code of the record that a sender reports a fault as over. It is never the code of a fault, for which a response may be set. */
const recoveredCode = 'external/recovered';

export function judgeReport(report: ExternalReport, rules: SenderRules, facts: ReportFacts): ReportVerdict {
  const { node, code, state } = report;
  if (!rules.codes.some((allowed) => matches(allowed, code)))
    return { kind: 'unusable', because: `${rules.name} may not report ${code}` };
  if (!facts.hasNode) return { kind: 'unusable', because: `there is no node ${node}` };
  // A recovery releases nothing, so its age does not matter; some senders give it the time of the begin.
  if (state === 'recover') return { kind: 'recovered', node, fault: recoveredFault(report, rules.name, facts.now) };
  if (facts.now - Date.parse(report.at) > facts.freshMs)
    return { kind: 'history', because: `it began at ${report.at}` };
  return { kind: 'fault', node, fault: externalFault(withAllowedAction(report, rules), rules.name, facts.now) };
}

const matches = (allowed: string, code: string): boolean =>
  allowed.endsWith('*') ? code.startsWith(allowed.slice(0, -1)) : code === allowed;

/** The action of the sender's settings, or the one that it asks for, if it may. */
function withAllowedAction({ action, ...report }: ExternalReport, { actions, actionOf }: SenderRules): ExternalReport {
  const own = Object.hasOwn(actionOf, report.code) ? actionOf[report.code] : undefined;
  if (own !== undefined) return { ...report, action: own };
  if (action === undefined) return report;
  return actions.includes(action)
    ? { ...report, action }
    : { ...report, text: `${report.text} (asks for ${action}, which it may not)` };
}

/** The fault of a report that counts. `sender`: who is responsible for it. */
export function externalFault(report: ExternalReport, sender: string, now: number): Fault {
  const { node, code, device, action, source } = report;
  const said = source === sender ? sender : `${sender} (${source})`;
  return {
    id: idOf(report, sender, now),
    source: 'external',
    code: `external/${code}`,
    message: foreignText(`${said}: ${report.text}`, faultLimits.message),
    seenAt: beganAt(report, now),
    node,
    ...(device !== undefined && { device }),
    ...(action !== undefined && { action }),
  };
}

/** A record beside the faults of the node: no action follows. */
export function recoveredFault(report: ExternalReport, sender: string, now: number): Fault {
  const { device, code, text } = report;
  const what = `external/${code}${device === undefined ? '' : ` (${device})`}`;
  const fault = externalFault({ ...report, text: `${what} is over: ${text}` }, sender, now);
  return { ...fault, code: recoveredCode, action: 'ignore', seenAt: new Date(now).toISOString() };
}

/** Reports of one sender with the same content within this time are one fault, ms. Later ones are new: the node may have been repaired since. */
const sameWithinMs = 10 * 60_000;

/**
 * By content, so that a repeated report, or one that its sender exports again under another id, is the same fault. An event without an end is
 * known by its own time.
 */
function idOf(report: ExternalReport, sender: string, now: number): string {
  const { node, code, device = '', state } = report;
  const began = Date.parse(beganAt(report, now));
  const when = state === 'once' ? began : Math.floor(began / sameWithinMs);
  const content = JSON.stringify([sender, node, code, device, state === 'recover', when]);
  return `external/${node.slice(0, 100)}/${createHash('sha256').update(content).digest('hex').slice(0, 24)}`;
}

/** A clock that is ahead must not date a fault into the future. */
const beganAt = ({ at }: ExternalReport, now: number): string => new Date(Math.min(Date.parse(at), now)).toISOString();
