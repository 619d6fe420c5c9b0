import { Command, InvalidArgumentError, Option } from 'commander';
import { cpus, totalmem } from 'node:os';
import { jobWorkflowId } from '../contract/ids.ts';
import { stopMethods, type StopMethod } from '../contract/jobs.ts';
import { readWrites } from '../testbed/audit.ts';
import { historyLength } from './histories.ts';
import { describeReport } from './recovery-page.ts';
import { reportOf } from './recovery-report.ts';
import { setStage } from './stage.ts';
import { runTrial, type Trial } from './trial.ts';
import { variantNames, variantsOf } from './variants.ts';

interface Options {
  readonly trials: number;
  readonly pods: number;
  readonly method?: StopMethod;
  readonly variant?: readonly string[];
  readonly output: 'table' | 'json';
}

export const recoveryCommand = (): Command =>
  new Command('recovery')
    .description(
      'One fault after the other: how long until the node takes no pods, until the first pod is stopped, until all run again; beside the same by bare hands',
    )
    .option('--trials <number>', 'incidents of each kind', count(1), 30)
    .option('--pods <number>', 'pods of the job; up to 16 have a node each', count(2), 8)
    .addOption(new Option('--method <method>', 'only this way of stopping a job; both, in the same trials, unless told').choices(stopMethods))
    .addOption(new Option('--variant <name...>', 'only these; a floor is one of them').choices(variantNames()))
    .addOption(new Option('--output <form>').choices(['table', 'json']).default('table'))
    .action((options: Options) => measure(options));

async function measure({ trials, pods, method, variant: names, output }: Options): Promise<void> {
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const variants = variantsOf(method, names);
  const stage = await setStage({ pods, tell });
  try {
    // What is slow only once (imports, connections, the first look at a kind) is not what is asked.
    for (const variant of variants) await runTrial(stage, variant, 0, pods);
    const done: Trial[] = [];
    for (let trial = 1; trial <= trials; trial++) {
      // Another one goes first in every trial, so that none has the quieter machine.
      const order = [...variants.slice(trial % variants.length), ...variants.slice(0, trial % variants.length)];
      for (const variant of order) done.push(await runTrial(stage, variant, trial, pods));
      tell(`trial ${trial} of ${trials}`);
    }
    const { job, since } = stage.healthy;
    const healthy = { events: await historyLength(stage.client, jobWorkflowId(job)), minutes: (Date.now() - since) / 60_000 };
    const machine = { cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version };
    const report = reportOf({ trials: done, variants, writes: await readWrites(stage.world.kubernetes.auditLog), healthy, machine, pods });
    process.stdout.write(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : describeReport(report));
  } finally {
    await stage.end();
  }
}

const count =
  (least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < least) throw new InvalidArgumentError(`must be a whole number, at least ${least}`);
    return value;
  };
