/**
 * The message of a condition of NVSentinel: one part for each event, each with the action that NVSentinel recommends.
 * Source: platform-connectors of NVIDIA/NVSentinel: `ErrorCode:79 PCI:0000:5d:00 GPU:GPU-... <text> Recommended Action=RESTART_BM;`;
 * its documents write `RecommendedAction: RESTART_BM`.
 */

import type { Action } from '../../contract/faults/faults.ts';
import { parsePciAddress } from '../kernel/pci-address.ts';
import type { ConditionRow } from './row.ts';
import type { Verdict } from './verdict.ts';

/** Parts beyond this are not read: they repeat devices of the node. */
const mostParts = 32;

/** Names of `RecommendedAction`, those of earlier releases too. What only a person can do is `contact-support`. */
const recommended: Readonly<Record<string, Action>> = {
  NONE: 'ignore',
  RESTART_APP: 'restart-app',
  COMPONENT_RESET: 'reset-gpu',
  RESET_GPU: 'reset-gpu',
  RESTART_VM: 'reboot',
  RESTART_BM: 'reboot',
  NODE_REBOOT: 'reboot',
  REPLACE_VM: 'contact-support',
  CONTACT_SUPPORT: 'contact-support',
  RUN_FIELDDIAG: 'contact-support',
  RUN_DCGMEUD: 'contact-support',
};

/** Checks whose error code is the number of an Xid or an SXid. */
const kindOfCode: Readonly<Record<string, 'xid' | 'sxid'>> = {
  SysLogsXIDError: 'xid',
  GpuXidError: 'xid',
  SysLogsSXIDError: 'sxid',
};

/** Whether a condition without a row is a check of NVSentinel. */
export const isCheck = (type: string, reason: string): boolean =>
  reason === `${type}IsNotHealthy` || reason === `${type}IsHealthy`;

/** One verdict for each part; a part that repeats code, device and action of another is left out. */
export function nvsentinelVerdicts(type: string, row: ConditionRow, message: string): readonly Verdict[] {
  const verdicts = partsOf(message).map((part) => verdictOf(type, row, part));
  return [...new Map(verdicts.map((one) => [`${one.code} ${one.device} ${one.cause}`, one])).values()];
}

interface Part {
  readonly text: string;
  /** As it is written. */
  readonly action?: string;
}

function partsOf(message: string): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const found of message.matchAll(/Recommended ?Action[:=] ?([A-Z_]{1,40})/g)) {
    parts.push({ text: message.slice(from, found.index), action: found[1] ?? '' });
    from = found.index + found[0].length;
    if (parts.length === mostParts) break;
  }
  return parts.length === 0 ? [{ text: message }] : parts;
}

function verdictOf(type: string, { meaning, action: ofRow }: ConditionRow, { text, action: written }: Part): Verdict {
  const code = codeOf(type, text);
  const device = deviceOf(text);
  const said =
    written === undefined ? undefined : Object.hasOwn(recommended, written) ? recommended[written] : undefined;
  const action = said ?? ofRow;
  const source =
    said !== undefined
      ? `NVSentinel recommends ${written}, that is ${said}`
      : ofRow !== undefined
        ? `kcover says ${ofRow}`
        : `NVSentinel recommends ${written ?? 'nothing'}, which names no action`;
  return {
    code,
    ...(action !== undefined && { action }),
    ...(device !== undefined && { device }),
    ...(written !== undefined && { cause: written }),
    message: text.replace(/^[; ]{1,4}/, '').trimEnd(),
    because: `${meaning}; ${source}`,
  };
}

function codeOf(type: string, text: string): string {
  const number = /\bErrorCode:(\d{1,6})\b/.exec(text)?.[1];
  const kind = Object.hasOwn(kindOfCode, type) ? kindOfCode[type] : undefined;
  return kind !== undefined && number !== undefined ? `${kind}/${Number(number)}` : `condition/${type}`;
}

function deviceOf(text: string): string | undefined {
  const pci = /\bPCI:([0-9a-f:.]{7,20})/i.exec(text)?.[1];
  const address = pci === undefined ? null : parsePciAddress(pci);
  if (address !== null) return address;
  const gpu = /\bGPU:(GPU-[0-9a-f-]{8,40}|\d{1,3})(?![\w-])/i.exec(text)?.[1];
  return gpu === undefined ? undefined : gpu.length <= 3 ? `GPU ${gpu}` : gpu;
}
