/** Which ends of slow pairs are to blame: belief propagation on the graph of pairs. */

import type { PairEvidence } from './preflight-evidence.ts';

/** Probabilities before any test. Most slow nodes are plainly slow; only repeated evidence makes one a little slow. Not measured: about 1 %. */
export const prior = { little: 0.002, plainly: 0.009 } as const;

const usualShare = prior.little + prior.plainly;

/** Probabilities of one end. */
export interface Belief {
  readonly little: number;
  readonly plainly: number;
}

/** From this share of slow ends on, the share of the run itself is a better prior than what is usual; but at most half. */
const many = 0.3;

/**
 * What is believed of each end, with the usual prior; or, where many ends look slow, with what was then believed of all as the prior. Then
 * whoever only met slow ends could well be slow too, and is not taken for healthy, nor are its partners convicted for its sake.
 */
export function suspect(ends: number, evidence: readonly PairEvidence[], broken: ReadonlySet<number> = new Set()): Belief[] {
  const first = believe(ends, evidence, broken);
  const tested = new Set(evidence.flatMap(({ pair }) => pair.ends));
  const slow = first.filter(({ little, plainly }, end) => tested.has(end) && little + plainly > 0.5).length;
  return slow > many * tested.size ? believe(ends, evidence, broken, Math.min(0.5, slow / tested.size)) : first;
}

/**
 * What is believed of each end when `share` of all are slow. A pair is as slow as its slower end; what it says is shared out by what the
 * other pairs of both ends say. `broken` ends are known to be bad: their pairs clear a partner when they do well, and else say nothing.
 * Loopy belief propagation with damped messages: exact on trees, and checked against enumeration on small graphs with many loops.
 */
export function believe(ends: number, evidence: readonly PairEvidence[], broken: ReadonlySet<number> = new Set(), share = usualShare): Belief[] {
  const [little, plainly] = [prior.little, prior.plainly].map((chance) => Math.log(((chance / usualShare) * share) / (1 - share)));
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

/** Sweeps of messages at most, and the change of one that no longer matters, as logarithm of odds. */
const mostSweeps = 100;
const settled = 1e-3;
/** Share of the last message that is kept, so that messages around a loop do not swing. */
const damping = 0.4;

/** Adds to the beliefs on each end what all its links say. */
function propagate(beliefs: LogOdds, links: readonly PairEvidence[]): void {
  // Two for each link: to its second end, and to its first.
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
        // Sums over what the sender may be, for each kind that the receiver may be: the worse of both decides what the pair says.
        const worse = ifPlainly * plainly;
        const healthy = 1 + ifLittle * little + worse;
        const toLittle = Math.log((ifLittle * (1 + little) + worse) / healthy);
        const toPlainly = Math.log((ifPlainly * (1 + little + plainly)) / healthy);
        change = Math.max(change, messages.approach(out, toLittle, toPlainly, beliefs, to));
      }
    }
  }
}

/** Odds beyond e to this are certain, and do not overflow. */
const certain = 200;

/** For each of many, the logarithms of the odds of both kinds of slow against healthy. */
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

  /** Moves towards new values, damped, and moves what is believed of an end along. How far it went. */
  approach(at: number, little: number, plainly: number, along: LogOdds, end: number): number {
    const byLittle = (1 - damping) * (little - (this.#little[at] ?? 0));
    const byPlainly = (1 - damping) * (plainly - (this.#plainly[at] ?? 0));
    this.add(at, byLittle, byPlainly);
    along.add(end, byLittle, byPlainly);
    return Math.max(Math.abs(byLittle), Math.abs(byPlainly));
  }
}

const none = new LogOdds(1);
