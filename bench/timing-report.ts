/** Runs the mix many times, and reports it by part. */

import type { WorkerSettings } from '../contract/settings/settings.schema.ts';
import { randomFrom } from '../policy/preflight/pairing.ts';
import { drawIncident, type TimedIncident } from './timing-incident.ts';
import { type Costs, costsOf, type Strategy, strategies } from './timing-strategies.ts';

/** A mean of independent jobs, with its standard error. */
export interface Mean {
  readonly mean: number;
  readonly error: number;
}

/** GPU-hours lost by a job, mean. `over`: the loss of the policy above the better of the two rules, relative to it. */
export interface TimingFigures extends Readonly<Record<Strategy, Mean>> {
  readonly name: string;
  readonly jobs: number;
  readonly better: 'now' | 'after';
  readonly over: Mean;
}

export interface TimingReport {
  readonly jobs: number;
  readonly parts: readonly TimingFigures[];
}

type ReportPart = readonly [name: string, has: (incident: TimedIncident) => boolean];

const [minute, hour] = [60_000, 3_600_000];
const lives =
  (least: number, most: number) =>
  ({ mtbfMs }: TimedIncident): boolean =>
    mtbfMs !== undefined && mtbfMs >= least && mtbfMs < most;
const apart =
  (least: number, most: number) =>
  ({ severity, intervalMs }: TimedIncident): boolean =>
    severity !== 'dead' && intervalMs >= least && intervalMs < most;

const parts: readonly ReportPart[] = [
  ['all', () => true],
  ['all but dead', ({ severity }) => severity !== 'dead'],
  ['dead', ({ severity }) => severity === 'dead'],
  ['degrading', ({ severity }) => severity === 'degrading'],
  ['slow', ({ severity }) => severity === 'slow'],
  ['degrading, lives 5 to 20 min', lives(0, 20 * minute)],
  ['degrading, lives 20 min to 3 h', lives(20 * minute, 3 * hour)],
  ['degrading, lives 3 to 24 h', lives(3 * hour, Infinity)],
  ['slow by less than 20 %', ({ severity, speed }) => severity === 'slow' && speed > 0.8],
  ['slow by 20 to 40 %', ({ severity, speed }) => severity === 'slow' && speed <= 0.8 && speed > 0.6],
  ['slow by more than 40 %', ({ severity, speed }) => severity === 'slow' && speed <= 0.6],
  ['a checkpoint every 1 to 10 min', apart(0, 10 * minute)],
  ['every 10 to 30 min', apart(10 * minute, 30 * minute)],
  ['every 30 to 120 min', apart(30 * minute, Infinity)],
];

/** All rules get the same jobs, and the same seed gives the same jobs. */
export function reportTiming(
  jobs: number,
  settings: WorkerSettings['recovery']['checkpoint'],
  seed = 'timing',
): TimingReport {
  const random = randomFrom(seed);
  const drawn = Array.from({ length: jobs }, () => {
    const incident = drawIncident(random);
    return { incident, costs: costsOf(incident, settings) };
  });
  return {
    jobs,
    parts: parts.map(([name, has]) =>
      figuresOf(
        name,
        drawn.filter(({ incident }) => has(incident)).map(({ costs }) => costs),
      ),
    ),
  };
}

function figuresOf(name: string, costs: readonly Costs[]): TimingFigures {
  const means = Object.fromEntries(
    strategies.map((strategy) => [strategy, meanOf(costs.map((one) => one[strategy]))]),
  ) as Record<Strategy, Mean>;
  const better = means.now.mean <= means.after.mean ? 'now' : 'after';
  const difference = meanOf(costs.map((one) => one.policy - one[better]));
  const whole = means[better].mean;
  return {
    name,
    jobs: costs.length,
    ...means,
    better,
    over: { mean: difference.mean / whole, error: difference.error / whole },
  };
}

function meanOf(values: readonly number[]): Mean {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / Math.max(1, values.length - 1) / values.length) };
}
