/**
 * Parses lines that NVIDIA's drivers write into the kernel log.
 *
 * Every pattern is anchored at the start of the line. A tenant chooses process and file names, and the kernel prints them
 * (`NAME[123]: segfault at ... in FILE[...]`); with an unanchored pattern any pod could fake a fault of its node.
 */

import { parsePciAddress } from './pci-address.ts';

/** `NVRM: Xid (PCI:0000:5d:00): 79, pid=1234, name=python, GPU has fallen off the bus.` */
export interface XidLine {
  readonly kind: 'xid';
  readonly code: number;
  readonly pci: string | null;
  readonly pid: number | null;
  readonly process: string | null;
  /** What follows number and process. */
  readonly message: string;
}

/** `nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up` */
export interface SxidLine {
  readonly kind: 'sxid';
  readonly code: number;
  readonly pci: string | null;
  readonly link: number | null;
  readonly word: 'fatal' | 'non-fatal' | null;
  readonly message: string;
}

/** A driver line without a number that is still a fault. */
export interface OtherLine {
  readonly kind: 'other';
  readonly code: 'gpu-off-bus' | 'nvlink' | 'peermem';
  readonly pci: string | null;
  readonly message: string;
}

const device = String.raw`nvidia [0-9a-f:.]{7,20}: `;
const sxid =
  /^(?:nvidia-nvswitch ?\d{0,4}: SXid(?: \(([^)]{0,100})\))?|SXid \((PCI:[^)]{5,100})\)): ?(\d{1,9})(?![\d.])[, ]? *(.*)$/i;
const xid = new RegExp(
  String.raw`^(?:${device})?NVRM: Xid(?: \(([^)]{0,100})\))?: ?(\d{1,9})(?![\d.])[, ]? *(.*)$`,
  'i',
);
const owner = /^pid=(?:'?<unknown>'?|'?(\d{1,10})'?)(?:, name=([^,]{0,64}))?(?:, *|$)/i;
const offBus = new RegExp(
  String.raw`^(?:${device}|NVRM: )(?=.{0,300}(?:fallen off the bus|GPU at PCI:[0-9a-f:.]{5,20} (?:is )?not responding))`,
  'i',
);
const nvlink = new RegExp(
  String.raw`^(?:${device})?NVRM: (?:GPU\d{1,3} |GPU at PCI:[0-9a-f:.]{5,20}:? )?knvlinkUpdatePostRxDetectLinkMask\w{0,20}: Failed to update`,
  'i',
);
const peermem = /^nvidia[-_]peermem:? nv_get_p2p_free_callback:\d{1,9} ERROR detected invalid context, skipping/i;

/** Texts that the kernel writes after a process name: the line is then about a process whose name imitates a driver line. */
const aboutProcess = /^(?:[[(:]|(?:invoked|uses|used|using|sent) |page allocation|potentially )/i;

/** The largest process number that Linux gives. */
const pidMost = 4_194_304;

/** Numbers from 0 to `most`, else null. */
function upTo(most: number, digits: string | undefined): number | null {
  const value = Number(digits ?? Number.NaN);
  return value <= most ? value : null;
}

function parseSxid(text: string): SxidLine | undefined {
  const match = sxid.exec(text);
  if (!match) return undefined;
  const message = match[4] ?? '';
  // Further lines of the same error repeat its number with registers; the first line is enough.
  if (/^(?:Severity \d|Data ?\{)/i.test(message)) return undefined;
  const word = /^(Non-)?Fatal\b/i.exec(message);
  return {
    kind: 'sxid',
    code: Number(match[3]),
    pci: parsePciAddress(match[1] ?? match[2] ?? ''),
    link: upTo(999, /\bLink (\d{1,3})\b/i.exec(message)?.[1]),
    word: word ? (word[1] ? 'non-fatal' : 'fatal') : null,
    message,
  };
}

function parseXid(text: string): XidLine | undefined {
  const match = xid.exec(text);
  if (!match) return undefined;
  const rest = match[3] ?? '';
  // Without an address the beginning is short enough for a process name (15 bytes).
  if (match[1] === undefined && aboutProcess.test(rest)) return undefined;
  const who = owner.exec(rest);
  const name = who?.[2]?.replaceAll("'", '').trim();
  return {
    kind: 'xid',
    code: Number(match[2]),
    pci: parsePciAddress(match[1] ?? ''),
    pid: upTo(pidMost, who?.[1]),
    process: name === undefined || name === '' || name.toLowerCase() === '<unknown>' ? null : name,
    message: rest.slice(who?.[0].length ?? 0),
  };
}

function parseOther(text: string): OtherLine | undefined {
  if (peermem.test(text)) return { kind: 'other', code: 'peermem', pci: null, message: text };
  if (nvlink.test(text))
    return { kind: 'other', code: 'nvlink', pci: parsePciAddress(text), message: text.replace(/^NVRM: /i, '') };
  if (offBus.test(text))
    return { kind: 'other', code: 'gpu-off-bus', pci: parsePciAddress(text), message: text.replace(/^NVRM: /i, '') };
  return undefined;
}

/** The parsed driver line; undefined for every other line. Takes the text of a line (`kernel-line.ts`). Never throws. */
export const parseDriverLine = (text: string): XidLine | SxidLine | OtherLine | undefined =>
  parseSxid(text) ?? parseXid(text) ?? parseOther(text);
