import { Command, Option } from 'commander';
import { readWrites } from '../testbed/audit.ts';
import { count } from './count.ts';
import { thisMachine } from './machine.ts';
import { setStage } from './stage.ts';
import { describeStorms } from './storm-page.ts';
import { nodesOf, planOf, type StormPlan } from './storm-plan.ts';
import { reportOfStorms } from './storm-report.ts';
import { runStorm, type StormRound } from './storm-round.ts';

interface Options extends Pick<StormPlan, 'kind' | 'limit'> {
  readonly jobs?: number;
  readonly nodes?: number;
  readonly rounds: number;
  readonly output: 'table' | 'json';
}

export const stormCommand = (): Command =>
  new Command('storm')
    .description(
      'Many faults at the same moment: until the last node is quarantined, the last job is stopped, all run again; and whether anything got lost',
    )
    .addOption(
      new Option('--jobs <number>', 'a container of each of this many jobs fails')
        .argParser(count(1))
        .conflicts('nodes'),
    )
    .option('--nodes <number>', 'a kernel line on this many nodes, each with a job', count(1))
    .addOption(
      new Option('--limit <limit>', 'how many nodes may be quarantined: all, or the default limit')
        .choices(['all', 'default'])
        .default('all'),
    )
    .addOption(new Option('--kind <kind>').choices(['Job', 'PyTorchJob']).default('Job'))
    .option('--rounds <number>', 'storms, one after the other', count(1), 3)
    .addOption(new Option('--output <form>').choices(['table', 'json']).default('table'))
    .action((options: Options, command: Command) => {
      if (options.jobs === undefined && options.nodes === undefined)
        command.error('error: --jobs or --nodes is needed');
      return measure(options);
    });

async function measure({ jobs, nodes, rounds, limit, kind, output }: Options): Promise<void> {
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  const [hits, hit] = nodes === undefined ? (['jobs', jobs ?? 0] as const) : (['nodes', nodes] as const);
  const plan = planOf({ hits, count: hit, limit, kind });
  const stage = await setStage({ nodes: nodesOf(hits, hit), agents: 'in-process', limit, print });
  try {
    // A warm-up: costs of the first run are not measured.
    await runStorm(stage, { ...plan, count: 1, allowed: 1 }, 0);
    const done: StormRound[] = [];
    for (let round = 1; round <= rounds; round++) {
      done.push(await runStorm(stage, plan, round));
      print(`storm ${round} of ${rounds}`);
    }
    const writes = await readWrites(stage.cluster.kubernetes.auditLog);
    const report = reportOfStorms({
      plan,
      nodes: stage.cluster.nodes.length,
      rounds: done,
      writes,
      machine: thisMachine(),
    });
    process.stdout.write(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : describeStorms(report));
    if (report.lost + report.doubled + report.misplaced + report.violations.length > 0) process.exitCode = 1;
  } finally {
    await stage.end();
  }
}
