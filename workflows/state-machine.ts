/** A workflow as a state machine: one serialisable state, and one table of what each event does in each phase. Pure: nothing here comes from Temporal. */

export interface Phased {
  readonly phase: string;
}

export interface Kinded {
  readonly kind: string;
}

/** The states of one phase. */
export type InPhase<State extends Phased, Phase extends string> = Extract<State, { readonly phase: Phase }>;

type OfKind<Event extends Kinded, Kind extends string> = Extract<Event, { readonly kind: Kind }>;

export interface Transition<State extends Phased, Before extends State, Event> {
  /** Phases that the event may lead to; empty where the phase stays. The diagram is drawn from it, and tests hold `next` to it. */
  readonly to: readonly State['phase'][];
  readonly next: (state: Before, event: Event) => State;
}

/** What each event does in each phase. An event without an entry changes nothing: it came too late. */
export type Transitions<State extends Phased, Event extends Kinded> = {
  readonly [Phase in State['phase']]: TransitionsFrom<State, InPhase<State, Phase>, Event>;
};

type TransitionsFrom<State extends Phased, Before extends State, Event extends Kinded> = {
  readonly [Kind in Event['kind']]?: Transition<State, Before, OfKind<Event, Kind>>;
};

/** Entries for several phases. */
export type CommonTransitions<State extends Phased, Event extends Kinded> = TransitionsFrom<State, State, Event>;

/** The state after the event. */
export function nextState<State extends Phased, Event extends Kinded>(
  transitions: Transitions<State, Event>,
  state: State,
  event: Event,
): State {
  const from = transitions[state.phase as State['phase']] as Readonly<
    Record<string, Transition<State, State, Event> | undefined>
  >;
  return from[event.kind]?.next(state, event) ?? state;
}

/** The state of a running workflow. Signals, updates, timers and the answers of effects are all dispatched to it as events. */
export class Machine<State extends Phased, Event extends Kinded> {
  readonly #transitions: Transitions<State, Event>;
  #state: State;
  #revision = 0;

  constructor(transitions: Transitions<State, Event>, state: State) {
    this.#transitions = transitions;
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  /** Grows with every change of the state. */
  get revision(): number {
    return this.#revision;
  }

  /** Returns the state after the event. */
  dispatch(event: Event): State {
    const before = this.#state;
    this.#state = nextState(this.#transitions, before, event);
    if (this.#state !== before) this.#revision += 1;
    return this.#state;
  }
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly by: readonly string[];
}

/** The edges between two different phases, with the kinds of events that lead there, in the order of the table. */
export function edgesOf<State extends Phased, Event extends Kinded>(
  transitions: Transitions<State, Event>,
): readonly Edge[] {
  const edges = new Map<string, { from: string; to: string; by: string[] }>();
  for (const [from, events] of Object.entries(
    transitions as Readonly<Record<string, CommonTransitions<State, Event>>>,
  )) {
    for (const [kind, transition] of Object.entries<Transition<State, State, never> | undefined>(events)) {
      for (const to of transition?.to ?? []) {
        if (to === from) continue;
        const edge = edges.get(`${from} ${to}`) ?? { from, to, by: [] };
        edge.by.push(kind);
        edges.set(`${from} ${to}`, edge);
      }
    }
  }
  return [...edges.values()];
}
