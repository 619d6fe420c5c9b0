/** Matchings of ranks into pairs, the same for the same seed. */

/** Numbers from 0 up to 1. */
export type Random = () => number;

/** A stream of numbers from a text: FNV-1a of it into mulberry32. Good enough to shuffle; not for secrets. */
export function randomFrom(seed: string): Random {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A copy in another order. */
export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(random() * left.length), 1)).flat();
}

/** Which ranks met before, and how often each sat out. */
export interface Met {
  readonly before: (a: number, b: number) => boolean;
  readonly satOut: (rank: number) => number;
}

export interface Matching {
  readonly pairs: readonly (readonly [number, number])[];
  /** At most one: the rank without a partner when the number is odd. */
  readonly idle: readonly number[];
}

/** Most turns of the circle that are tried to find one without repeated pairs. */
const mostTurns = 64;

/**
 * Pairs up `order`, avoiding pairs that met before as far as possible; of an odd number the rank that sat out least is left over.
 * By the circle method: one place is fixed, the others rotate around it, and opposite places form a pair, so that in all turns of one order
 * everybody meets once. The turns are taken in random order: neighbouring turns would form short cycles of pairs, in which a slow node is
 * harder to tell from its partners.
 */
export function matching(order: readonly number[], turn: number, met: Met, random: Random): Matching {
  const places = order.length + (order.length % 2);
  const turns = shuffled(
    Array.from({ length: Math.max(0, places - 1) }, (_, index) => index),
    random,
  );
  let best: { readonly cost: number; readonly matching: Matching } | undefined;
  for (let attempt = 0; attempt < Math.min(mostTurns, turns.length) && best?.cost !== 0; attempt++) {
    const candidate = circle(order, places, turns[(turn + attempt) % turns.length] ?? 0);
    const cost =
      candidate.pairs.filter(([a, b]) => met.before(a, b)).length +
      candidate.idle.reduce((sum, rank) => sum + met.satOut(rank), 0);
    if (best === undefined || cost < best.cost) best = { cost, matching: candidate };
  }
  return best?.matching ?? { pairs: [], idle: order };
}

function circle(order: readonly number[], places: number, turn: number): Matching {
  const at = (place: number): number | undefined => order[place === 0 ? 0 : 1 + ((place - 1 + turn) % (places - 1))];
  const pairs: [number, number][] = [];
  const idle: number[] = [];
  for (let place = 0; place < places / 2; place++) {
    const [one, other] = [at(place), at(places - 1 - place)];
    if (one !== undefined && other !== undefined) pairs.push([Math.min(one, other), Math.max(one, other)]);
    else idle.push(...[one, other].filter((rank) => rank !== undefined));
  }
  return { pairs, idle };
}
