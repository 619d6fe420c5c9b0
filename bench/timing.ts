import { Command, Option } from 'commander';
import { workerSettings } from '../contract/settings/settings.schema.ts';
import { count } from './count.ts';
import { describeTiming } from './timing-page.ts';
import { reportTiming } from './timing-report.ts';

interface Options {
  readonly jobs: number;
  readonly seed: string;
  readonly most?: string;
  readonly mtbf?: string;
  readonly output: 'table' | 'json';
}

export const timingCommand = (): Command =>
  new Command('timing')
    .description(
      'Simulated faults with known outcomes: what a stop now, a stop after the next checkpoint, and the policy lose. Needs no servers',
    )
    .option('--jobs <number>', 'simulated jobs', count(2), 200_000)
    .option('--seed <text>', 'seed of the jobs', 'timing')
    .option('--most <duration>', 'recovery.checkpoint.most of the policy, instead of its default')
    .option('--mtbf <duration>', 'recovery.checkpoint.mtbf, the same')
    .addOption(new Option('--output <form>').choices(['table', 'json']).default('table'))
    .action(({ jobs, seed, output, ...checkpoint }: Options) => {
      const report = reportTiming(jobs, workerSettings.parse({ recovery: { checkpoint } }).recovery.checkpoint, seed);
      process.stdout.write(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : describeTiming(report));
    });
