/** Parses one line of the kernel log, however it was captured, and removes prefixes. */

import { oneLine } from '../../contract/text.ts';

export interface KernelLine {
  /** The kernel's text: one line, no control characters, at most 4096 characters. */
  readonly text: string;
  /** Record number of /dev/kmsg. */
  readonly sequence?: number;
  /** Microseconds since boot. */
  readonly monotonicUs?: number;
  /** 0 (emergency) to 7 (debug). */
  readonly level?: number;
  /** Written from user space: such records have a facility, the kernel's own have none. Absent where the form of the line does not show it. */
  readonly userSpace?: true;
}

const most = 4096;

/** `6,1234,98765432,-;text`: priority, sequence, microseconds, flags; continuation lines with ` KEY=value` may follow. */
const record = /^(\d{1,4}),(\d{1,20}),(\d{1,20}),[^;\n]{0,200};([^\n]*)/;

/** Prefixes of dmesg, journalctl and syslog. Each may occur once, in this order. */
const prefixes = [
  /^<(?<priority>\d{1,4})>/, // dmesg --raw
  /^[a-z]{3,8} {0,3}:[a-z]{3,6} {0,3}: /, // dmesg --decode: `kern  :warn  : `
  /^(?:[A-Z][a-z]{2} [ \d]\d|\d{4}-\d\d-\d\dT)[ \d:.,+Z-]{5,32}\S{1,253} kernel: /, // journalctl, syslog: time, host, `kernel:`
  /^\d{4}-\d\d-\d\dT[\d:.,]{5,20}(?:Z|[+-]\d\d:?\d\d)? /, // dmesg --time-format iso
  /^kernel: /, // journalctl -o cat of some shippers, tail of a syslog line
  /^\[(?: {0,8}(?<seconds>\d{1,12})\.(?<fraction>\d{1,9})|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})\] ?/, // dmesg, dmesg -T
  /^\[ {0,8}[TC]\d{1,10}\] ?/, // caller, where the kernel is built to print it
] as const;

/** A safe integer, or undefined. */
function whole(digits: string | undefined): number | undefined {
  const value = digits === undefined ? Number.NaN : Number(digits);
  return Number.isSafeInteger(value) ? value : undefined;
}

const line = (
  text: string,
  sequence: number | undefined,
  monotonicUs: number | undefined,
  priority: number | undefined,
): KernelLine => ({
  text,
  ...(sequence !== undefined && { sequence }),
  ...(monotonicUs !== undefined && { monotonicUs }),
  ...(priority !== undefined && { level: priority & 7 }),
  ...(priority !== undefined && priority >> 3 !== 0 && { userSpace: true }),
});

/** Never throws. The header of a /dev/kmsg record is exact, so no prefix is removed from its text. */
export function parseKernelLine(raw: string): KernelLine {
  const head = raw.slice(0, most * 2);
  const match = record.exec(head);
  if (match) return line(oneLine(match[4] ?? '', most), whole(match[2]), whole(match[3]), whole(match[1]));

  let text = head.trimStart().split('\n', 1)[0] ?? '';
  let priority: number | undefined;
  let monotonicUs: number | undefined;
  for (const prefix of prefixes) {
    const found = prefix.exec(text);
    if (!found) continue;
    text = text.slice(found[0].length);
    priority ??= whole(found.groups?.['priority']);
    const { seconds, fraction } = found.groups ?? {};
    if (seconds !== undefined && fraction !== undefined)
      monotonicUs = whole(`${seconds}${fraction.padEnd(6, '0').slice(0, 6)}`);
  }
  return line(oneLine(text, most), undefined, monotonicUs, priority);
}
