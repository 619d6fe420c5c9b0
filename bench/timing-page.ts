/** The figures about the time of a stop, as text. */

import { table } from '../cli/program/output.ts';
import type { Mean, TimingReport } from './timing-report.ts';

export const describeTiming = ({ jobs, parts }: TimingReport): string =>
  [
    `${jobs} simulated jobs, each under every rule. GPU-hours lost by a job, mean +- standard error; bound: a rule that knows the future.`,
    table(
      ['part', 'jobs', 'now', 'after the next checkpoint', 'policy', 'bound', 'policy against the better of the two'],
      parts.map(({ name, jobs, now, after, policy, bound, over }) => [
        name,
        String(jobs),
        ...[now, after, policy, bound].map(hours),
        `${over.mean > 0 ? '+' : ''}${(100 * over.mean).toFixed(1)} +-${(100 * over.error).toFixed(1)} %`,
      ]),
    ),
    '',
  ].join('\n\n');

const hours = ({ mean, error }: Mean): string => `${mean.toFixed(2)} +-${error.toFixed(2)}`;
