/** Reads `chronyc -c tracking`: one line of 14 values. Source: chrony's client.c (process_cmd_tracking). */

import type { Finding } from '../finding.ts';
import { linesOf, nothingRead, toolFinding, type ToolReading } from './reading.ts';

/** By what the clock may differ from its source, ms: MetaX's own daily check has the same limit. */
export const usualOffsetMs = 10;

const columns = { offset: 4, leap: 13, number: 14 } as const;

/** `Insert second` and `Delete second` announce a leap second: the clock is synchronised. */
const synchronised: readonly string[] = ['Normal', 'Insert second', 'Delete second'];

/** Never throws. */
export function readChronyc(text: string, maxOffsetMs: number = usualOffsetMs): ToolReading {
  const line = linesOf(text).find((one) => one.includes(','));
  if (line === undefined) {
    const said = text.slice(0, 200).trim();
    return nothingRead('clock', 'chronyc tracking', said === '' ? 'it prints nothing' : `it prints: ${said}`);
  }
  const values = line.split(',').map((value) => value.trim());
  const [offset = '', leap = ''] = [values[columns.offset], values[columns.leap]];
  if (values.length !== columns.number || !/^-?\d{1,12}\.\d{1,12}$/.test(offset))
    return nothingRead('clock', 'chronyc tracking', 'the line is not that of chronyc -c tracking');
  if (leap === 'Not synchronised') return { devices: 1, faults: [notSynchronised], unobservable: [] };
  if (!synchronised.includes(leap))
    return nothingRead('clock', 'chronyc tracking', `the leap status is ${leap.slice(0, 60)}`);
  const ms = Math.abs(Number(offset)) * 1000;
  return { devices: 1, faults: ms > maxOffsetMs ? [tooFarOff(ms, maxOffsetMs)] : [], unobservable: [] };
}

const notSynchronised: Finding = toolFinding({
  source: 'clock',
  code: 'clock/not-synchronised',
  message: 'chronyc: the clock is not synchronised',
  because: 'The time daemon follows no source: times of this node cannot be compared with those of others.',
});

const tooFarOff = (ms: number, limit: number): Finding =>
  toolFinding({
    source: 'clock',
    code: 'clock/offset',
    message: `chronyc: the clock differs from its source by ${Number(ms.toFixed(3))} ms, the limit is ${limit} ms`,
    because: 'The clock of the node differs from its time source by more than the settings allow.',
  });
