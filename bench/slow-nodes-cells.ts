/** Simulates jobs of one kind many times: both rules on the same measurements, and adaptive rounds on the same fleet. */

import { randomFrom } from '../policy/preflight/pairing.ts';
import { judgeStatistical } from '../policy/preflight/statistical.ts';
import { judgeStrict } from '../policy/preflight/strict.ts';
import {
  type SimulatedFleet,
  nominal,
  type Noise,
  rack,
  reportsOf,
  scattered,
  testRounds,
} from './slow-nodes-fleet.ts';
import { counted, type Figures, figuresOf, foundAtOneInAThousand, nothing, type Share } from './slow-nodes-score.ts';

/** `flips`: probability of a false slow and a false healthy pair. */
export interface Cell {
  readonly size: number;
  readonly slow: number;
  readonly where: 'scattered' | 'rack';
  readonly flips: number;
  readonly reports: Noise['reports'];
}

/** Result of a cell. `strict` and `statistical` judge the same five rounds. */
export interface CellFigures extends Cell {
  readonly strict: Figures;
  readonly statistical: Figures;
  readonly adaptive?: Figures;
}

const five = { rounds: 'fixed', most: 5 } as const;
const asNeeded = { rounds: 'adaptive', most: 6 } as const;
/** A slow node reaches 60 %, and so does a flipped pair: only the pattern tells them apart. */
const slowTo = 0.6;
/** The strict rule gets the best of all thresholds, which is unknown in a real fabric; the statistical rule gets none. */
const best = (nominal * (1 + slowTo)) / 2;

export function runCell(cell: Cell, jobs: number, adaptive: boolean): CellFigures {
  let [strict, statistical, needed] = [nothing, nothing, nothing];
  for (let job = 0; job < jobs; job++) {
    const seed = `${cell.size}/${cell.slow}/${cell.where}/${cell.flips}/${cell.reports}/${job}`;
    const fleet = fleetOf(cell, seed);
    const reports = reportsOf(testRounds(fleet, five, seed));
    const rounds = Math.min(five.most, cell.size - 1);
    strict = counted(strict, judgeStrict(reports, { size: cell.size, threshold: best }), fleet.slow, rounds);
    statistical = counted(
      statistical,
      judgeStatistical(reports, { size: cell.size, threshold: 0 }),
      fleet.slow,
      rounds,
    );
    if (!adaptive) continue;
    const ranks = testRounds(fleet, asNeeded, seed);
    const taken = Math.max(...ranks.map(({ results }) => results.length));
    needed = counted(needed, judgeStatistical(reportsOf(ranks), { size: cell.size, threshold: 0 }), fleet.slow, taken);
  }
  return {
    ...cell,
    strict: figuresOf(strict),
    statistical: figuresOf(statistical),
    ...(adaptive && { adaptive: figuresOf(needed) }),
  };
}

function fleetOf({ size, slow, where, flips, reports }: Cell, seed: string): SimulatedFleet {
  const random = randomFrom(`truth ${seed}`);
  const noise = { falseSlow: flips, falseHealthy: flips, sigma: 0.02, slowTo, reports };
  return { size, noise, slow: where === 'rack' ? rack(size, slow, random) : scattered(size, slow, random) };
}

/** Slow nodes of one speed among normal noise without flips. */
export interface Slowdown {
  readonly slowTo: number;
  readonly sigma: number;
}

/** `line`: found at a threshold at which one in a thousand healthy nodes would be blamed. The other figures use the rules unchanged. */
export interface SlowdownFigures extends Slowdown {
  readonly jobs: number;
  /** By the best bandwidth of each node over all rounds: the equivalent of intersection with a threshold taken from the run. */
  readonly lineByBest: Share;
  readonly lineStatistical: Share;
  readonly statistical: Figures;
  /** Slow nodes that are at least undetermined, so that another round is requested. */
  readonly doubted: Share;
  /** With a floor of 90 % of the nominal bandwidth. */
  readonly strict: Figures;
}

export function runSlowdown({ slowTo, sigma }: Slowdown, jobs: number): SlowdownFigures {
  const size = 256;
  let [strict, statistical] = [nothing, nothing];
  const scores = {
    best: { slow: [] as number[], healthy: [] as number[] },
    belief: { slow: [] as number[], healthy: [] as number[] },
  };
  let doubted = 0;
  for (let job = 0; job < jobs; job++) {
    const seed = `${slowTo}/${sigma}/${job}`;
    const slow = scattered(size, 4, randomFrom(`truth ${seed}`));
    const ranks = testRounds(
      { size, slow, noise: { falseSlow: 0, falseHealthy: 0, sigma, slowTo, reports: 'bandwidths' } },
      five,
      seed,
    );
    const judgement = judgeStatistical(reportsOf(ranks), { size, threshold: 0 });
    strict = counted(strict, judgeStrict(reportsOf(ranks), { size, threshold: 0.9 * nominal }), slow, five.most);
    statistical = counted(statistical, judgement, slow, five.most);
    for (const { rank, verdict, confidence } of judgement.nodes) {
      const kind = slow.has(rank) ? 'slow' : 'healthy';
      scores.belief[kind].push(verdict === 'healthy' ? 1 - confidence : confidence);
      scores.best[kind].push(-Math.max(...(ranks[rank]?.results ?? []).map(({ gbps = 0 }) => gbps)));
      doubted += Number(slow.has(rank) && verdict !== 'healthy');
    }
  }
  return {
    slowTo,
    sigma,
    jobs,
    lineByBest: foundAtOneInAThousand(scores.best.slow, scores.best.healthy),
    lineStatistical: foundAtOneInAThousand(scores.belief.slow, scores.belief.healthy),
    statistical: figuresOf(statistical),
    doubted: { ...figuresOf({ ...statistical, found: doubted }).recall },
    strict: figuresOf(strict),
  };
}

/** Processor time and wall-clock time, ms, of one judgement of five rounds; the median of several. */
export function timeOf(size: number): { readonly size: number; readonly processor: number; readonly clock: number } {
  const fleet = fleetOf({ size, slow: 8, where: 'scattered', flips: 0.01, reports: 'bandwidths' }, 'time');
  const reports = reportsOf(testRounds(fleet, five, 'time'));
  const times = Array.from({ length: 7 }, () => {
    const [used, started] = [process.cpuUsage(), performance.now()];
    judgeStatistical(reports, { size, threshold: 0 });
    const { user, system } = process.cpuUsage(used);
    return { processor: (user + system) / 1000, clock: performance.now() - started };
  });
  const middle = (of: (time: { processor: number; clock: number }) => number): number =>
    times.map(of).toSorted((a, b) => a - b)[3] ?? 0;
  return { size, processor: middle(({ processor }) => processor), clock: middle(({ clock }) => clock) };
}
