/**
 * Xids 144 to 150 report the units of NVLink 5. Their line says whether the error is fatal; the 91 rows of NVIDIA's decode sheet come down to
 * that word, except for link events that a person or the far end caused.
 */

import type { Action } from '../../contract/faults/faults.ts';
import type { XidLine } from './xid.ts';

export interface LinkError {
  readonly action: Action;
  readonly severity: 'fatal' | 'non-fatal';
  /** What decided, as the end of a sentence. */
  readonly why: string;
}

/** `NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 ...)`; older drivers: `Fatal XC 1 i 2 Link 01 [0x0000000a]`. */
const unitError = /^(\w{1,40}) {1,10}(Non-?)?Fatal\b[^([]{0,60}(?:[([]0x([0-9a-f]{1,8})\b)?/i;

/** Subcodes of link events (bits 25 to 20 of the first word) whose row in the sheet asks for nothing on this node. */
const harmless: readonly number[] = [0x26, 0x28];
/** Those that the sheet blames on the far end first. */
const ofPeer: readonly number[] = [0x15, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25];

/** Undefined for other Xids, and where the line lacks the word: then the catalogue decides. */
export function nvlink5Error({ code, message }: Pick<XidLine, 'code' | 'message'>): LinkError | undefined {
  if (code < 144 || code > 150) return undefined;
  const [whole, unit = '', non, word] = unitError.exec(message) ?? [];
  if (whole === undefined) return undefined;
  const name = unit.toUpperCase();
  if (non !== undefined)
    return {
      action: 'ignore',
      severity: 'non-fatal',
      why: `its line says that ${name} is not fatal, unless Xid 154 asks for more`,
    };
  const subcode = word === undefined ? undefined : (Number.parseInt(word, 16) >>> 20) & 0x3f;
  if (code === 149 && name.startsWith('NETIR_LINK_') && subcode !== undefined) {
    const shown = `0x${subcode.toString(16)}`;
    if (harmless.includes(subcode))
      return {
        action: 'ignore',
        severity: 'fatal',
        why: `the decode sheet asks for nothing on this node after a link event ${shown}`,
      };
    if (ofPeer.includes(subcode))
      return {
        action: 'reset-gpu',
        severity: 'fatal',
        why: `the decode sheet says to look at the far end of the link first (${shown})`,
      };
  }
  return { action: 'reset-gpu', severity: 'fatal', why: `its line says that ${name} is fatal` };
}
