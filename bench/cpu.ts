/** Processor time by process during a measurement: on a small machine that explains most of the time. */

import { readFileSync } from 'node:fs';
import type { Server } from '../testbed/servers/server.ts';

/** Milliseconds of processor time by process. */
export type CpuTimes = Readonly<Record<string, number>>;

/** Linux counts in hundredths of a second. */
const msPerTick = 10;

export function cpuTimes(servers: readonly Pick<Server, 'name' | 'pid'>[]): CpuTimes {
  const { user, system } = process.cpuUsage();
  const others = servers.map(({ name, pid }) => [name, pid === undefined ? 0 : timeOf(pid)] as const);
  return Object.fromEntries([...others, ['bench and agents', Math.round((user + system) / 1000)]]);
}

/** Processor time between two readings; processes below one tick are left out. */
export const cpuBetween = (before: CpuTimes, after: CpuTimes): CpuTimes =>
  Object.fromEntries(
    Object.entries(after)
      .map(([name, ms]) => [name, ms - (before[name] ?? 0)] as const)
      .filter(([, ms]) => ms >= msPerTick)
      .toSorted(([, a], [, b]) => b - a),
  );

function timeOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces; user and system time are the 14th and 15th field of all.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * msPerTick;
  } catch {
    return 0;
  }
}
