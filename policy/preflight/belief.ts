/** Which ends of slow pairs are slow: belief propagation on the graph of pairs. */

import type { PairEvidence } from './evidence.ts';

/** Prior probabilities. Most slow nodes are plainly slow; only repeated evidence makes one a little slow. The total of about 1 % is an assumption. */
export const prior = { little: 0.002, plainly: 0.009 } as const;

const usualShare = prior.little + prior.plainly;

/** Probabilities of one end. */
export interface Belief {
  readonly little: number;
  readonly plainly: number;
}

/** From this share of slow ends on, the run's own share is the better prior; at most one half. */
const many = 0.3;

/**
 * Beliefs with the usual prior; where many ends look slow, again with their share as the prior. An end that only met slow ends may then be slow
 * too: it does not count as healthy, and its partners are not convicted because of it.
 */
export function suspect(
  ends: number,
  evidence: readonly PairEvidence[],
  broken: ReadonlySet<number> = new Set(),
): Belief[] {
  const first = believe(ends, evidence, broken);
  const tested = new Set(evidence.flatMap(({ pair }) => pair.ends));
  const slow = first.filter(({ little, plainly }, end) => tested.has(end) && little + plainly > 0.5).length;
  return slow > many * tested.size ? believe(ends, evidence, broken, Math.min(0.5, slow / tested.size)) : first;
}

/**
 * Beliefs when `share` of all ends are slow. A pair is as slow as its slower end; the other pairs of both ends decide which of them that is.
 * `broken` ends are known to be bad: a fast pair with one clears the partner, any other pair with one is no evidence.
 * Loopy belief propagation with damped messages: exact on trees, and checked against enumeration on small graphs with many loops.
 */
export function believe(
  ends: number,
  evidence: readonly PairEvidence[],
  broken: ReadonlySet<number> = new Set(),
  share = usualShare,
): Belief[] {
  const [little, plainly] = [prior.little, prior.plainly].map((chance) =>
    Math.log(((chance / usualShare) * share) / (1 - share)),
  );
  const beliefs = new LogOdds(ends, little, plainly);
  const links = evidence.filter(({ pair: { ends }, little, plainly }) => {
    const [a, b] = ends;
    if (broken.has(a) !== broken.has(b)) beliefs.add(broken.has(a) ? b : a, Math.min(0, little), Math.min(0, plainly));
    return !broken.has(a) && !broken.has(b);
  });
  propagate(beliefs, links);
  return Array.from({ length: ends }, (_, end) => {
    const [little, plainly] = [beliefs.little(end), beliefs.plainly(end)];
    return { little: little / (1 + little + plainly), plainly: plainly / (1 + little + plainly) };
  });
}

/** Most sweeps of messages, and the change below which they have converged, as logarithm of odds. */
const mostSweeps = 100;
const settled = 1e-3;
/** Share of the last message that is kept, so that messages around a loop do not oscillate. */
const damping = 0.4;

/** Adds the evidence of all links to the beliefs on their ends. */
function propagate(beliefs: LogOdds, links: readonly PairEvidence[]): void {
  // Two messages for each link: to its second end, and to its first.
  const messages = new LogOdds(links.length * 2);
  const odds = links.map(({ little, plainly }) => [Math.exp(little), Math.exp(plainly)] as const);
  for (let sweep = 0, change = Infinity; sweep < mostSweeps && change > settled; sweep++) {
    change = 0;
    for (const [index, [ifLittle, ifPlainly]] of odds.entries()) {
      const [a = 0, b = 0] = links[index]?.pair.ends ?? [];
      for (const side of [0, 1] as const) {
        const [from, to] = side === 0 ? [a, b] : [b, a];
        const [out, back] = [2 * index + side, 2 * index + 1 - side];
        const little = beliefs.little(from, messages, back);
        const plainly = beliefs.plainly(from, messages, back);
        // Sums over the states of the sender, for each state of the receiver: the worse of both sets the pair's speed.
        const worse = ifPlainly * plainly;
        const healthy = 1 + ifLittle * little + worse;
        const toLittle = Math.log((ifLittle * (1 + little) + worse) / healthy);
        const toPlainly = Math.log((ifPlainly * (1 + little + plainly)) / healthy);
        change = Math.max(change, messages.approach(out, toLittle, toPlainly, beliefs, to));
      }
    }
  }
}

/** Odds are capped at e to this, so that they do not overflow. */
const certain = 200;

/** For each index, the logarithms of the odds of both kinds of slow against healthy. */
class LogOdds {
  readonly #little: Float64Array;
  readonly #plainly: Float64Array;

  constructor(count: number, little = 0, plainly = 0) {
    this.#little = new Float64Array(count).fill(little);
    this.#plainly = new Float64Array(count).fill(plainly);
  }

  /** Odds, without those of one message. */
  little(at: number, without: LogOdds = none, message = 0): number {
    return Math.exp(Math.min(certain, (this.#little[at] ?? 0) - (without.#little[message] ?? 0)));
  }

  plainly(at: number, without: LogOdds = none, message = 0): number {
    return Math.exp(Math.min(certain, (this.#plainly[at] ?? 0) - (without.#plainly[message] ?? 0)));
  }

  add(at: number, little: number, plainly: number): void {
    this.#little[at] = (this.#little[at] ?? 0) + little;
    this.#plainly[at] = (this.#plainly[at] ?? 0) + plainly;
  }

  /** Moves a message towards new values, damped, and the belief on its end by the same amount. Returns the change. */
  approach(at: number, little: number, plainly: number, along: LogOdds, end: number): number {
    const byLittle = (1 - damping) * (little - (this.#little[at] ?? 0));
    const byPlainly = (1 - damping) * (plainly - (this.#plainly[at] ?? 0));
    this.add(at, byLittle, byPlainly);
    along.add(end, byLittle, byPlainly);
    return Math.max(Math.abs(byLittle), Math.abs(byPlainly));
  }
}

const none = new LogOdds(1);
