/** The judgement of a driver's code where its line is not at hand. */

import { decideSxid } from './sxid-action.ts';
import { decideXid } from './xid-action.ts';
import { type FaultJudgement } from './judgement.ts';

/** Undefined for codes that are no number of a driver. `message`: what the line says behind the number. */
export function judgementOf(code: string, message: string): FaultJudgement | undefined {
  const [, kind, digits] = /^(xid|sxid)\/(\d{1,9})$/.exec(code) ?? [];
  const line = { code: Number(digits), pci: null, message };
  if (kind === 'xid') return decideXid({ ...line, kind, pid: null, process: null });
  return kind === 'sxid' ? decideSxid({ ...line, kind, link: null, word: null }) : undefined;
}
