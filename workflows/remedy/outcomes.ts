/** How attempts end, and with them the remedy. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { MachineView, Remediation, RemedyOutcome } from '../../contract/remedy/remedy.ts';
import {
  asking,
  type Attempt,
  delayMs,
  isProven,
  isoTime,
  most,
  type RemedyData,
  type RemedyState,
  rungOf,
  toPeople,
  withMessages,
} from './state.ts';

interface AttemptEnd {
  readonly outcome: Remediation['outcome'];
  readonly because: string;
  readonly at: number;
}

/** Adds the attempt in progress to the record; without one there is nothing to add. */
function closed(data: RemedyData, { outcome, because, at }: AttemptEnd): RemedyData {
  const { attempt, remediations } = data;
  if (!attempt) return data;
  const remediation: Remediation = {
    rung: rungOf(data)?.hook ?? '',
    attempt: attempt.number,
    operation: attempt.operation,
    begunAt: isoTime(attempt.begunAt),
    endedAt: isoTime(at),
    outcome,
    because,
    ...(attempt.reference !== undefined && { reference: attempt.reference }),
  };
  return { ...data, attempt: undefined, remediations: [...remediations, remediation] };
}

/** Another attempt of the rung, the next rung, or the end. `repeatable`: the rung may be tried again. */
export function failed(before: RemedyData, end: AttemptEnd, repeatable: boolean): RemedyState {
  const rung = rungOf(before);
  const data = { ...closed(before, end), failures: before.failures + 1 };
  const because = `${rung?.hook ?? ''}: ${end.because}`;
  if (repeatable && rung && data.failures < rung.attempts) return asking(data, because);
  const next: RemedyData = { ...data, rung: data.rung + 1, runs: 0, failures: 0 };
  if (rungOf(next)) return asking(next, because);
  return ended(next, 'exhausted', `every rung of ladder ${next.input.ladder.name} was tried; ${because}`);
}

/** Somebody else works on the node, or its workloads do not leave: nothing is done until later, and not for ever. */
export function delayed(before: RemedyData, because: string, at: number): RemedyState {
  // What is proven stands: only its verification waits.
  const rest = isProven(before) ? before : closed(before, { outcome: 'busy', because, at });
  const data = { ...rest, delays: before.delays + 1 };
  return data.delays > most.delays
    ? ended(
        closed(data, { outcome: 'not-verified', because, at }),
        'exhausted',
        `delayed ${data.delays} times: ${because}`,
      )
    : { ...data, phase: 'waiting', askAt: at + delayMs, because, recheck: false };
}

/** A hardware fault after the proof: the rung did not help, however often it is repeated. */
export const relapsed = (data: RemedyData, { code, message }: Fault, at: number): RemedyState =>
  failed(data, { outcome: 'relapsed', because: `${code} after its proof: ${message}`, at }, false);

/** A hook that runs is no longer awaited: what it still does is not known. Before the look at the machine, nothing was done. */
export function cancelled(before: RemedyData, because: string, at: number): RemedyState {
  const { attempt } = before;
  const end = { outcome: 'unknown' as const, because: `no longer awaited: ${because}`, at };
  const data = attempt?.before ? closed(before, end) : { ...before, attempt: undefined };
  return ended(data, 'cancelled', because);
}

export function cured(
  before: RemedyData,
  attempt: Attempt,
  { probationMs }: { readonly probationMs: number },
  at: number,
) {
  const because = [
    `cured by ${rungOf(before)?.hook ?? ''}: ${attempt.proof ?? ''}`,
    ...(attempt.verified === undefined ? [] : [attempt.verified]),
    ...(probationMs > 0 ? ['its probation is over'] : []),
  ].join('; ');
  return ended(closed(before, { outcome: 'cured', because: attempt.proof ?? '', at }), 'cured', because);
}

/** Notifies a person wherever a person has to act; returns the permission, if there may be one. */
export function ended(data: RemedyData, outcome: RemedyOutcome['outcome'], because: string): RemedyState {
  const { node, incident } = data.input;
  const event = toPeople(data, outcome === 'cured' ? 'Normal' : 'Warning', 'remedyEnded', {
    message: `${because}${toDo(data, outcome)}`,
    key: 'end',
  });
  const after = withMessages(data, ...(outcome === 'cancelled' ? [] : [event]), { to: 'cluster', outcome });
  return {
    ...after,
    phase: 'ended',
    because,
    outcome: { node, incident, outcome, because, remediations: after.remediations },
  };
}

function toDo({ input: { node, ladder } }: RemedyData, outcome: RemedyOutcome['outcome']): string {
  const release = `kcover node release ${node} --reason "..."`;
  if (outcome === 'cured')
    return ladder.release === 'verified' ? '; kcover releases the node' : `; to release it: ${release}`;
  return outcome === 'cancelled' ? '' : `; a person must repair or replace the machine, then: ${release}`;
}

/** Why this is no longer the machine to repair; undefined when it is. */
export function whyOther({ input: { uid, systemUuid } }: RemedyData, view: MachineView | null): string | undefined {
  if (!view) return 'the node object is gone';
  if (view.uid !== uid)
    return view.systemUuid === systemUuid && systemUuid !== ''
      ? 'the same machine returned under another node object'
      : 'its name was taken by another node object';
  return systemUuid === '' || view.systemUuid === '' || view.systemUuid === systemUuid
    ? undefined
    : 'another machine has its node object now';
}
