import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { ownNamespace } from '../kube/permissions.ts';
import { breakGpu } from '../testbed/failures.ts';
import { type Kcover, startKcover } from '../testbed/roles.ts';
import type { Server } from '../testbed/servers/server.ts';
import { until } from '../testbed/until.ts';
import { startTestCluster, stopOnSignals, type TestCluster } from '../testbed/test-cluster.ts';
import { median, summarise } from './statistics.ts';

interface Options {
  readonly rounds: string;
  readonly lease: string;
  readonly renew: string;
  readonly retry: string;
}

/** A log line that is recorded and has no effect. */
const harmless = 'NVRM: Xid (PCI:0000:5d:00): 13, pid=4242, name=python, Graphics Exception';

export const failoverCommand = (): Command =>
  new Command('failover')
    .description(
      'Kills the leading controller of three, or asks it to end: how long until the next report of an agent is accepted',
    )
    .option('--rounds <number>', 'of each', '10')
    .option('--lease <duration>', 'leaderElection.lease', '2s')
    .option('--renew <duration>', 'leaderElection.renew', '1500ms')
    .option('--retry <duration>', 'leaderElection.retry', '300ms')
    .action((options: Options) => measure(options));

async function measure({ rounds, ...leaderElection }: Options): Promise<void> {
  const cluster = await startTestCluster({ nodes: 2, onProgress: (line) => console.error(line) });
  stopOnSignals(cluster);
  try {
    const kcover = await startKcover(cluster, {
      mode: 'observe',
      controllers: 3,
      controllerSettings: { leaderElection },
    });
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const gaps: number[] = [];
      for (let round = 0; round < Number(rounds); round++) gaps.push(await gapAfter(cluster, kcover, signal));
      const { n, max } = summarise(gaps);
      console.log(
        `${signal}: ${n} rounds, gap p50 ${Math.round(median(gaps))} ms, max ${Math.round(max)} ms; lease ${leaderElection.lease}`,
      );
    }
    await kcover.stop();
  } finally {
    await cluster.stop();
  }
}

/** From the signal until an agent knows that its report, written just after, is stored in Temporal. */
async function gapAfter(cluster: TestCluster, kcover: Kcover, signal: 'SIGKILL' | 'SIGTERM'): Promise<number> {
  const [node] = cluster.nodes;
  const agent = kcover.agents.get(node?.name ?? '');
  if (!node || !agent) throw new Error('no node');
  const leader = await leads(cluster, kcover);
  // A random point between two renewals.
  await sleep(Math.random() * 1000);
  const before = await sample(kcover, agent, 'kcover_agent_reports_sent_total');
  const began = Date.now();
  const ending = leader.kill(signal);
  await breakGpu(node, harmless);
  await until('the report is taken', 120_000, async () =>
    (await sample(kcover, agent, 'kcover_agent_reports_sent_total')) > before
      ? { found: true }
      : { missing: 'not yet' },
  );
  // A heartbeat may be accepted between the report and this reading, so this is an upper bound.
  const gap = (await sample(kcover, agent, 'kcover_agent_last_accepted_timestamp_seconds')) * 1000 - began;
  await ending;
  await leader.start();
  return gap;
}

function leads(cluster: TestCluster, { controllers, service }: Kcover): Promise<Server> {
  return until('a leader behind the Service', 60_000, async () => {
    const { spec } = await cluster.api.coordination.readNamespacedLease({ namespace: ownNamespace, name: 'kcover' });
    const [pod, ...others] = service?.endpoints() ?? [];
    const index = Number(/-(\d+)$/.exec(pod ?? '')?.[1]);
    const found = controllers[index];
    return found && others.length === 0 && spec?.holderIdentity?.startsWith(`${pod}_`)
      ? { found }
      : { missing: `${spec?.holderIdentity} holds the Lease` };
  });
}

async function sample({ metricsOf }: Kcover, role: Server, name: string): Promise<number> {
  const line = (await metricsOf(role)).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? 0);
}
