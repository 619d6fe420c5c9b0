import { Client, Connection } from '@temporalio/client';
import { Command, Option } from 'commander';
import { table } from '../cli/program/output.ts';
import { startKcover } from '../testbed/roles.ts';
import { startTestCluster, stopOnSignals } from '../testbed/test-cluster.ts';
import { NodeFleet } from './collection-fleet.ts';
import {
  type CollectionResult,
  collect,
  type CollectionPlan,
  type CollectionStage,
  killable,
} from './collection-round.ts';
import { count } from './count.ts';
import { type BenchMachine, thisMachine } from './machine.ts';

interface Options {
  readonly reports?: number;
  readonly over: number;
  readonly kill: readonly CollectionPlan['kill'][];
  readonly output: 'table' | 'json';
}

/** Collections that are measured by default. */
const usual: readonly CollectionPlan[] = [
  ...[16, 1024].flatMap((reports) => killable.map((kill): CollectionPlan => ({ reports, overMs: 0, kill }))),
  ...(['nobody', 'controller'] as const).map((kill): CollectionPlan => ({ reports: 4096, overMs: 10_000, kill })),
];

export const collectionCommand = (): Command =>
  new Command('collection')
    .description(
      'Preflight reports of many nodes at the same moment: until the verdict, with a process killed in the middle; and whether any report got lost',
    )
    .option('--reports <number>', 'this many only, instead of 16 and 1,024 at once and 4,096 over 10 s', count(4))
    .option('--over <seconds>', 'with --reports: sent over this many seconds', count(0), 0)
    .addOption(
      new Option(
        '--kill <process...>',
        'with --reports: process that is killed when a quarter has arrived, one collection for each',
      )
        .choices(killable)
        .default(['nobody']),
    )
    .addOption(new Option('--output <form>').choices(['table', 'json']).default('table'))
    .action(measure);

async function measure({ reports, over, kill, output }: Options): Promise<void> {
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  const plans = reports === undefined ? usual : kill.map((each) => ({ reports, overMs: over * 1000, kill: each }));
  const stage = await setStage(Math.max(...plans.map((plan) => plan.reports)), print);
  try {
    // A warm-up: costs of the first run are not measured.
    await collect(stage, { reports: 4, overMs: 0, kill: 'nobody' }, 0);
    const rounds: CollectionResult[] = [];
    for (const plan of plans) {
      rounds.push(await collect(stage, plan, rounds.length + 1));
      print(describe(rounds.slice(-1)));
    }
    const report = { rounds, machine: thisMachine() };
    process.stdout.write(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : page(report));
    if (rounds.some(({ lost, verdicts }) => lost !== 0 || verdicts !== 1)) process.exitCode = 1;
  } finally {
    await stage.end();
  }
}

async function setStage(
  nodes: number,
  print: (line: string) => void,
): Promise<CollectionStage & { end(): Promise<void> }> {
  // The leases of thousands of nodes are not renewed; the nodes stay ready all the same.
  const cluster = await startTestCluster({ nodes: 1, patientWithNodes: true, onProgress: print });
  stopOnSignals(cluster);
  try {
    const kcover = await startKcover(cluster, {
      mode: 'act',
      workerSettings: { quarantine: { limit: { atLeast: nodes } } },
      agentsOn: [],
    });
    const connection = await Connection.connect({ address: cluster.temporal.address });
    const client = new Client({ connection, namespace: cluster.temporal.namespace });
    const fleet = new NodeFleet(cluster, kcover);
    const end = async (): Promise<void> => {
      await Promise.all([fleet.close(), connection.close()]);
      await kcover.stop();
      await cluster.stop();
    };
    return { cluster, kcover, client, fleet, end };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

const page = ({
  rounds,
  machine,
}: {
  readonly rounds: readonly CollectionResult[];
  readonly machine: BenchMachine;
}): string =>
  `Milliseconds after the first report is sent. ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}, load ${machine.load}.\n\n${describe(rounds)}\n`;

function describe(rounds: readonly CollectionResult[]): string {
  return table(
    [
      'reports',
      'over',
      'killed',
      'all taken',
      'verdict',
      'lost',
      'refused',
      'verdicts',
      'slow found',
      'quarantined',
      'history events',
    ],
    rounds.map((one) => [
      String(one.reports),
      `${one.overMs / 1000} s`,
      one.kill,
      one.acceptedMs.toFixed(0),
      one.verdictMs.toFixed(0),
      ...[one.lost, one.refused, one.verdicts].map(String),
      `${one.slowFound} of ${one.slowThere}`,
      String(one.quarantined),
      String(one.historyEvents),
    ]),
  );
}
