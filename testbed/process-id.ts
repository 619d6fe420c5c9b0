import { readFileSync } from 'node:fs';

/** A process, distinguished by its start time from a later one with the same pid. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot (field 22 of /proc/pid/stat); empty where there is no /proc. */
  readonly startedAt: string;
}

export function self(): ProcessId {
  return { pid: process.pid, startedAt: startOf(process.pid) };
}

export function isAlive({ pid, startedAt }: ProcessId): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startedAt === '' || startOf(pid) === startedAt;
}

/** The command line of a process, empty when it is gone. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name (field 2) may itself contain blanks and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
