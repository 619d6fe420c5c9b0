/** Plays events against a state machine, offline: the state is serialised and read back between any two events, as continue-as-new and a restart do. */

import * as fc from 'fast-check';
import { type Kinded, nextState, type Phased, type Transitions } from '../../workflows/state-machine.ts';

export interface Played<State, Event> {
  readonly before: State;
  readonly event: Event;
  readonly after: State;
}

export interface MachineProperty<State extends Phased, Event extends Kinded> {
  readonly first: () => State;
  readonly events: fc.Arbitrary<readonly ((state: State, step: number) => Event)[]>;
  /** Broken invariants of one step, as sentences. */
  readonly violations: (played: Played<State, Event>, earlier: readonly Played<State, Event>[]) => readonly string[];
}

/** Broken invariants of the first failing sequence of events, shrunk; undefined when all hold. A deliberate defect may break more than the one of `only`. */
export function findViolation<State extends Phased, Event extends Kinded>(
  transitions: Transitions<State, Event>,
  { first, events, violations }: MachineProperty<State, Event>,
  runs = 1000,
  only = /(?:)/,
  seed?: number,
): string | undefined {
  const holds = fc.property(events, (steps) => {
    const played: Played<State, Event>[] = [];
    let state = throughJson(first());
    for (const [step, make] of steps.entries()) {
      const event = throughJson(make(state, step));
      const after = throughJson(nextState(transitions, state, event));
      const one = { before: state, event, after };
      const broken = [...undeclared(transitions, one), ...violations(one, played)].filter((each) => only.test(each));
      if (broken.length > 0)
        throw new Error(
          `${broken.join('; ')}, after ${JSON.stringify([...played, one].map(({ event: { kind } }) => kind))}`,
        );
      played.push(one);
      state = after;
    }
  });
  const checked = fc.check(holds, { numRuns: runs, ...(seed !== undefined && { seed }) });
  const { failed, errorInstance, counterexamplePath } = checked;
  if (!failed) return undefined;
  return `${errorInstance instanceof Error ? errorInstance.message : 'failed'} (seed ${checked.seed}, path ${counterexamplePath})`;
}

/** As `findViolation`, for a machine with a deliberate defect: the same events each time, because a rare one would not be met in every search. */
export const findDefect = <State extends Phased, Event extends Kinded>(
  transitions: Transitions<State, Event>,
  property: MachineProperty<State, Event>,
  found: RegExp,
): string | undefined => findViolation(transitions, property, 20_000, found, 1);

const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function undeclared<State extends Phased, Event extends Kinded>(
  transitions: Transitions<State, Event>,
  { before, event, after }: Played<State, Event>,
): string[] {
  if (after.phase === before.phase) return [];
  const from = transitions[before.phase as State['phase']] as Readonly<
    Record<string, { readonly to: readonly string[] } | undefined>
  >;
  return from[event.kind]?.to.includes(after.phase) === true
    ? []
    : [`${event.kind} led from ${before.phase} to ${after.phase}, which the table does not say`];
}

/** The table with one transition replaced: a deliberate defect, which the properties must find. */
export function withTransition<
  State extends Phased,
  Event extends Kinded,
  Phase extends State['phase'],
  Kind extends Event['kind'],
>(
  transitions: Transitions<State, Event>,
  phase: Phase,
  kind: Kind,
  transition: NonNullable<Transitions<State, Event>[Phase][Kind]>,
): Transitions<State, Event> {
  return { ...transitions, [phase]: { ...transitions[phase], [kind]: transition } };
}
