import { writeFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { count } from './count.ts';
import { describeSlowNodes } from './slow-nodes-page.ts';
import { plotSlowNodes } from './slow-nodes-plot.ts';
import { curves, reportSlowNodes } from './slow-nodes-report.ts';

interface Options {
  readonly trials: number;
  readonly plot?: string;
  readonly output: 'table' | 'json';
}

export const slowNodesCommand = (): Command =>
  new Command('slow-nodes')
    .description(
      'Simulated fleets with known slow nodes: verdicts of the strict and the statistical rule on the same measurements. Needs no servers',
    )
    .option('--trials <number>', 'jobs of up to 64 nodes in each cell; fewer of larger ones', count(1), 400)
    .option('--plot <file>', 'also draw how many are found, as an SVG picture')
    .addOption(new Option('--output <form>').choices(['table', 'json']).default('table'))
    .action(async ({ trials, plot, output }: Options) => {
      const report = reportSlowNodes(trials, (line) => void process.stderr.write(`${line}\n`));
      process.stdout.write(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : describeSlowNodes(report));
      if (plot !== undefined) await writeFile(plot, plotSlowNodes(curves(trials)));
    });
