import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { leaderLabel, nodeWorkflowId } from '../../contract/ids.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import { leaseName, ownNamespace } from '../../kube/permissions.ts';
import { merge } from '../../testbed/api.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { bootIdFile } from '../../testbed/nodes.ts';
import type { Server } from '../../testbed/servers/server.ts';
import { until } from '../../testbed/until.ts';
import { violations } from '../support/invariants.ts';
import { LiveKcover, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    agents: 'processes',
    controllers: 3,
    workers: 2,
  });
});
afterEach(() => live.clear());
afterAll(() => live?.close(), 120_000);

const podOf = (controller: Server): string => `kcover-controller-${live.kcover.controllers.indexOf(controller)}`;

/** Name of the elected pod; empty without a leader. */
async function holder(): Promise<string> {
  const { spec } = await live.cluster.api.coordination.readNamespacedLease({ namespace: ownNamespace, name: 'kcover' });
  return (spec?.holderIdentity ?? '').replace(/_[^_]*$/, '');
}

/** Waits until the Service routes to the pod that holds the Lease, and to no other. */
function leader(other?: string): Promise<Server> {
  return until('the Service leads to the leader', 60_000, async () => {
    const [held, behind] = [await holder(), live.kcover.service?.endpoints() ?? []];
    const found = live.kcover.controllers.find((each) => podOf(each) === held);
    const missing = `${held || 'nobody'} holds the Lease, the Service leads to ${behind.join(', ') || 'nobody'}`;
    return found && held !== other && behind.length === 1 && behind[0] === held ? { found } : { missing };
  });
}

async function labelled(): Promise<string[]> {
  const labelSelector = `${leaderLabel.key}=${leaseName}`;
  const { items } = await live.cluster.api.core.listNamespacedPod({ namespace: ownNamespace, labelSelector });
  return items.map(({ metadata }) => metadata?.name ?? '');
}

const lastLogMessage = ({ log }: Server): unknown =>
  (JSON.parse(readFileSync(log, 'utf8').trim().split('\n').at(-1) ?? '{}') as { readonly msg?: unknown }).msg;

describe('several controllers', () => {
  it('have one leader behind the Service, and a fault found during its failure reaches the next leader and is handled once', async () => {
    const job = await live.pytorch();
    const node = job.nodes.at(-1);
    if (!node) throw new Error('no node');
    const first = await leader();
    expect(await labelled()).toEqual([podOf(first)]);

    await first.kill('SIGKILL');
    await breakGpu(node, xid79);
    const second = await leader(podOf(first));
    await live.quarantined(node);
    await live.settled(job);
    expect(await labelled()).toEqual([podOf(second)]);

    await first.start();
    expect(await leader()).toBe(second);
    expect(live.records(job).map(({ stops }) => stops.length)).toEqual([1]);
    expect(violations(await live.facts(job))).toEqual([]);
    await metricsAndLogsOf(live.records(job)[0]?.incident ?? '', second, node.name);
  });

  /** Checks metrics and logs of the roles for one recovery; two workers share it. */
  async function metricsAndLogsOf(incident: string, leads: Server, node: string): Promise<void> {
    const { workers, controllers, agents, metricsOf } = live.kcover;
    const sum = async (roles: readonly Server[], sample: string) => {
      const texts = await Promise.all(roles.map((role) => metricsOf(role)));
      return texts.reduce(
        (all, text) =>
          all +
          Number(
            text
              .split('\n')
              .find((line) => line.startsWith(`${sample} `))
              ?.split(' ')[1] ?? 0,
          ),
        0,
      );
    };
    expect(await sum(workers, 'kcover_stops_total{by="suspend",result="stopped"}')).toBe(1);
    expect(await sum(workers, 'kcover_recoveries_total{outcome="restarted"}')).toBe(1);
    expect(await sum(workers, 'kcover_quarantines_total{taint="ours"}')).toBe(1);
    expect(await metricsOf(workers[0] as Server)).toContain('temporal_');
    expect(await sum(controllers, 'kcover_leading')).toBe(1);
    expect(await sum([leads], 'kcover_intake_accepted_total')).toBe(1);
    expect(await sum([agents.get(node) as Server], 'kcover_agent_reports_sent_total')).toBe(1);
    const logged = workers
      .flatMap(({ log }) => readFileSync(log, 'utf8').trim().split('\n'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const steps = logged.flatMap((line) =>
      line['incident'] === incident && line['level'] === 'info' ? [line['activity']] : [],
    );
    expect(steps).toEqual(expect.arrayContaining(['stopAttempt', 'resumeJob', 'awaitAttempt', 'recordIncident']));
  }

  it('remove the label from a pod that has it without leading', async () => {
    const leads = await leader();
    const other = live.kcover.controllers.find((each) => each !== leads);
    if (!other) throw new Error('no other');
    await live.cluster.api.core.patchNamespacedPod(
      { namespace: ownNamespace, name: podOf(other), body: { metadata: { labels: { [leaderLabel.key]: leaseName } } } },
      merge,
    );
    await until('only the leader has it', 60_000, async () => {
      const worn = await labelled();
      return worn.length === 1 && worn[0] === podOf(leads)
        ? { found: true }
        : { missing: `it is on ${worn.join(', ')}` };
    });
    expect(await leader()).toBe(leads);
  }, 300_000);
});

describe('every role restarted, one after the other, during a recovery', () => {
  it('leads to one stop, and the job runs again', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = job.nodes.at(-1);
    const agent = live.kcover.agents.get(node?.name ?? '');
    if (!node || !agent) throw new Error('no node');
    await leader();
    await breakGpu(node, xid79);
    await live.recorder.seen(`suspend of ${job.name}`, 60_000, () => live.recorder.isSuspended(job));

    for (const process of [...live.kcover.workers, ...live.kcover.controllers, agent]) {
      await process.kill('SIGTERM');
      expect(lastLogMessage(process)).toBe('ended');
      await process.start();
    }
    await live.settled(job);
    await leader();
    expect(live.records(job).map(({ stops }) => stops.length)).toEqual([1]);
    expect(violations(await live.facts(job))).toEqual([]);
  });
});

describe('a restart of an agent', () => {
  const quarantinesOf = (node: string) => live.recorder.quarantines().filter((span) => span.node === node).length;

  /** A job that was recovered from a bad node, that node, and its agent. */
  async function recovered() {
    const job = await live.pytorch();
    const node = job.nodes.at(-1);
    const agent = live.kcover.agents.get(node?.name ?? '');
    if (!node || !agent) throw new Error('no node');
    await breakGpu(node, xid79);
    await live.settled(job);
    return { job, node, agent };
  }

  it('leads to no second judgement, neither during the quarantine nor after it', async () => {
    const { job, node, agent } = await recovered();
    const before = quarantinesOf(node.name);
    const since = new Date();

    await agent.kill('SIGKILL');
    await agent.start();
    await sleep(1000);
    expect(await live.writes(since)).toEqual([]);
    await live.release(node);
    await agent.stop();
    await agent.start();
    await sleep(1000);

    expect(quarantinesOf(node.name)).toBe(before);
    expect(live.records(job)).toHaveLength(1);
    expect(violations(await live.facts(job))).toEqual([]);
  });

  it('that reads old lines again does not quarantine a released node', async () => {
    const { job, node, agent } = await recovered();
    await live.release(node);
    const before = quarantinesOf(node.name);

    await agent.kill('SIGKILL');
    const bootId = readFileSync(join(node.hostRoot, bootIdFile), 'utf8').trim();
    writeFileSync(
      join(live.cluster.directory, 'kcover', 'agents', node.name, 'spool', 'kernel-log.json'),
      JSON.stringify({ bootId, next: 0 }),
    );
    await agent.start();
    await until('the old line judged again', 60_000, async () => {
      const { phase, because } = await live.temporal.workflow
        .getHandle(nodeWorkflowId(node.name))
        .query<NodeStatus>(statusQuery);
      return phase === 'watching' ? { found: because } : { missing: `node workflow ${phase}: ${because}` };
    });
    await sleep(500);
    expect(quarantinesOf(node.name)).toBe(before);
    expect(live.records(job)).toHaveLength(1);
  });
});
