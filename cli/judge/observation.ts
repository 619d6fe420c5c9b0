/** One line of a recorded stream: a kernel line, or a fault as a source names it, with the time at which it was seen. */

import { type Action, actions, type Fault, faultLimits } from '../../contract/faults/faults.ts';
import { isFaultSource, traitsOf } from '../../contract/faults/sources.ts';
import { oneLine } from '../../contract/text.ts';
import { kernelFault } from '../../faults/kernel/from-kernel.ts';
import { judgementOf } from '../../faults/kernel/code-judgement.ts';

export interface Observation {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly node: string;
  /** Undefined for a kernel line that is no fault. */
  readonly fault: Fault | undefined;
}

const longest = 16_384;
type Fields = Readonly<Record<string, unknown>>;

/** The observation of a line, or why it is none. Never throws. */
export function observationOf(text: string, number: number, node: string): Observation | { readonly unusable: string } {
  if (text.length > longest) return { unusable: `it has more than ${longest} characters` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { unusable: 'it is not JSON' };
  }
  if (!isFields(value)) return { unusable: 'it is no object' };
  const at = timeOf(value['at']);
  if (at === undefined) return { unusable: '`at` is neither a time such as 2026-11-21T07:09:03Z nor milliseconds' };
  const on = typeof value['node'] === 'string' && value['node'] !== '' ? oneLine(value['node'], 253) : node;
  const seen = { number, node: on, seenAt: new Date(at).toISOString() };
  const fault = typeof value['line'] === 'string' ? ofLine(value['line'], seen) : ofFault(value['fault'], seen);
  return typeof fault === 'string' ? { unusable: fault } : { at, node: on, fault };
}

interface Seen {
  readonly number: number;
  readonly node: string;
  readonly seenAt: string;
}

const ofLine = (line: string, { number, node, seenAt }: Seen): Fault | undefined =>
  kernelFault({ line, position: { bootId: 'replay', sequence: number }, node, seenAt, evidence: [] });

function ofFault(given: unknown, { number, node, seenAt }: Seen): Fault | string {
  if (!isFields(given)) return 'it has neither `line` nor `fault`';
  const { source, code, device, message, action } = given;
  if (!isFaultSource(source)) return '`fault.source` is no source of faults';
  const traits = traitsOf(source);
  if (typeof code !== 'string' || !traits.codes.test(code)) return `\`fault.code\` is no code of the source ${source}`;
  const said = typeof message === 'string' ? oneLine(message, faultLimits.message) : '';
  const named = actions.find((one) => one === action);
  const judged: { action?: Action; standing?: Fault['standing'] } = judgementOf(code, said) ?? {};
  const does = named ?? traits.actions?.[code] ?? judged.action;
  return {
    id: `${source}/${node}/replay/${number}`,
    source,
    code,
    message: said,
    seenAt,
    node,
    ...(typeof device === 'string' && { device: oneLine(device, 64) }),
    ...(does !== undefined && { action: does }),
    ...(judged.standing !== undefined && { standing: judged.standing }),
    ...(traits.hasPosition && { kernel: { bootId: 'replay', sequence: number } }),
  };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The range of times that a date can have. */
const most = 8.64e15;

function timeOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' && value.length <= 40 ? Date.parse(value) : value;
  return typeof ms === 'number' && Number.isFinite(ms) && Math.abs(ms) <= most ? Math.trunc(ms) : undefined;
}
