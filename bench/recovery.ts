import { Command, Option } from 'commander';
import { jobWorkflowId } from '../contract/ids.ts';
import { stopMethods, type StopMethod } from '../contract/job/jobs.ts';
import { readRequests } from '../testbed/audit.ts';
import { count } from './count.ts';
import { historyLength } from './histories.ts';
import { thisMachine } from './machine.ts';
import { describeReport } from './recovery-page.ts';
import { reportOf } from './recovery-report.ts';
import { setStage, startHealthyJob } from './stage.ts';
import { runTrial, type Trial } from './trial.ts';
import { nodesFor, type Variant, variantNames, variantsFor } from './variants.ts';

interface Options {
  readonly trials: number;
  readonly pods: number;
  readonly method?: StopMethod;
  readonly variant?: readonly string[];
  readonly countRequests: boolean;
  readonly output: 'table' | 'json';
}

export const recoveryCommand = (): Command =>
  new Command('recovery')
    .description(
      'One fault after the other: how long until the node takes no pods, until the first pod is stopped, until all run again; compared with the same requests sent directly',
    )
    .option('--trials <number>', 'incidents of each kind', count(1), 30)
    .option(
      '--pods <number>',
      'pods of the job; up to 16 have a node each, beyond 64 only batch Jobs by default',
      count(2),
      8,
    )
    .addOption(
      new Option('--method <method>', 'only this stop method; by default both, in the same trials').choices(
        stopMethods,
      ),
    )
    .addOption(new Option('--variant <name...>', 'only these; a floor is one of them').choices(variantNames()))
    .addOption(new Option('--output <form>').choices(['table', 'json']).default('table'))
    .action((options: Options) => measure(options));

async function measure({ trials, pods, method, variant: names, countRequests, output }: Options): Promise<void> {
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  const variants = variantsFor(pods, method, names);
  // One node is broken, and one runs the healthy job.
  const stage = await setStage({
    nodes: nodesFor(pods) + 2,
    agents: pods <= 16 ? 'processes' : 'in-process',
    limit: 'all',
    countRequests,
    print,
  });
  try {
    await stage.watch(stage.cluster.nodes);
    const healthy = await startHealthyJob(stage);
    const trialOf = (variant: Variant, number: number): Promise<Trial> =>
      runTrial(stage, healthy, variant, number, pods);
    // A warm-up: costs of the first run (imports, connections, the first look at a kind) are not measured.
    for (const variant of variants) await trialOf(variant, 0);
    const done: Trial[] = [];
    for (let trial = 1; trial <= trials; trial++) {
      // The order rotates with every trial, so that no variant gets the quieter machine.
      const order = [...variants.slice(trial % variants.length), ...variants.slice(0, trial % variants.length)];
      for (const variant of order) done.push(await trialOf(variant, trial));
      print(`trial ${trial} of ${trials}`);
    }
    const leftAlone = {
      events: await historyLength(stage.client, jobWorkflowId(healthy.job)),
      minutes: (Date.now() - healthy.since) / 60_000,
    };
    const requests = await readRequests(stage.cluster.kubernetes.auditLog);
    const report = reportOf({ trials: done, variants, requests, healthy: leftAlone, machine: thisMachine(), pods });
    process.stdout.write(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : describeReport(report));
  } finally {
    await stage.end();
  }
}
