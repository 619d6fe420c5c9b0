/** Faults that stand as long as an object says so: which are due, and when to look again. Pure; times are ms of one clock. */

import type { Fault } from '../../contract/faults/faults.ts';

/** A fault that an object shows now. */
export interface ShownFault {
  readonly fault: Fault;
  readonly debounceMs: number;
}

export interface StandingFault {
  readonly fault: Fault;
  readonly dueAt: number;
  readonly sent: boolean;
}

export type StandingFaults = ReadonlyMap<string, StandingFault>;

/** One that is no longer shown is forgotten: if it comes back it must stand as long again. */
export const foldStanding = (before: StandingFaults, shown: readonly ShownFault[], now: number): StandingFaults =>
  new Map(
    shown.map(({ fault, debounceMs }) => [
      fault.id,
      before.get(fault.id) ?? { fault, dueAt: now + debounceMs, sent: false },
    ]),
  );

export interface DueFaults {
  readonly due: readonly Fault[];
  readonly after: StandingFaults;
  /** When the next one is due. */
  readonly lookAt?: number;
}

/** Each is due once. */
export function takeDue(standing: StandingFaults, now: number): DueFaults {
  const waiting = [...standing.values()].filter(({ sent }) => !sent);
  const due = waiting.filter(({ dueAt }) => dueAt <= now).map(({ fault }) => fault);
  const later = waiting.filter(({ dueAt }) => dueAt > now).map(({ dueAt }) => dueAt);
  const after = new Map(
    [...standing].map(([id, one]) => [id, { ...one, sent: one.sent || one.dueAt <= now }] as const),
  );
  return { due, after, ...(later.length > 0 && { lookAt: Math.min(...later) }) };
}
