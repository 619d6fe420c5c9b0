/**
 * Demo: twelve nodes of one rack break with one cause. They are one incident of the cluster: people are notified of it once, the jobs restart in
 * waves, and the nodes are repaired one at first, then two and four at once.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { ClusterStatus, Storm, Wave } from '../contract/cluster.ts';
import { clusterWorkflowId, eventReasons, quarantineTaintKey } from '../contract/ids.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import { merge } from './api.ts';
import { setUpDemo } from './demo-fixture.ts';
import { breakGpu } from './failures.ts';
import { type HookServer, startHookServer } from './hook-server.ts';
import { readRecord, watchIncident } from './incident.ts';
import { pytorchJob } from './job-manifests.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from './jobs.ts';
import { grantRepair } from './rights.ts';
import type { Story } from './story.ts';
import type { TestCluster } from './test-cluster.ts';
import { until } from './until.ts';

const line = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';
const rack = 'topology.kubernetes.io/rack';
/** With the one of the fixture, each of two pods on two nodes. The last is the most important. */
const others = ['search', 'vision', 'speech', 'eval', 'urgent'];
const priorityClass = 'training-urgent';

/** Seconds stand for minutes: of the calm before the first repair, of a wave, and of a repair. */
const workerSettings = (hooks: string, receiver: string) => ({
  quarantine: { limit: { percent: 50, domains: { [rack]: { percent: 100 } } }, storm: { quiet: '6s' } },
  recovery: { waves: { pods: 4, every: '3s' } },
  remediation: {
    mode: 'run',
    most: 12,
    probation: '1s',
    hooks: { reset: { kind: 'http', url: `${hooks}/reset` } },
    ladders: [{ name: 'gpu', codes: ['xid/*'], release: 'verified', rungs: [{ hook: 'reset', proof: ['result'] }] }],
  },
  notifications: { routes: [{ name: 'oncall', format: 'alertmanager', url: receiver }] },
});

let hooks: HookServer;
let receiver: Receiver;

export const storm: Story = {
  nodes: 24,
  async set(options) {
    hooks = await startHookServer();
    receiver = await startReceiver();
    hooks.agree('reset', { worksMs: 2000, answer: { verdict: 'passed', because: 'the GPU answers again' } });
    return setUpDemo({ ...options, workerSettings: workerSettings(hooks.url, receiver.url) }, { workers: 1 });
  },
  async run({ cluster, kcover, job }, print) {
    await grantRepair(cluster);
    const jobs = [job, ...(await startOthers(cluster))];
    const before = await Promise.all(jobs.map((one) => podsOf(cluster.api, one)));
    const names = [...new Set(before.flat().map(({ spec }) => spec?.nodeName ?? ''))];
    const broken = cluster.nodes.filter(({ name }) => names.includes(name));
    for (const { name } of cluster.nodes)
      await cluster.api.core.patchNode(
        { name, body: { metadata: { labels: { [rack]: names.includes(name) ? 'r7' : 'r8' } } } },
        merge,
      );
    print(
      `\n${jobs.length} jobs run on ${broken.length} nodes of rack r7; ${cluster.nodes.length - broken.length} nodes of rack r8 are free\n`,
    );

    const incident = await watchIncident(cluster, kcover, job, before[0] ?? [], print);
    const since = new Date();
    incident.happened(`kernel of ${broken.length} nodes of rack r7: ${line}`);
    await Promise.all(broken.map((node) => breakGpu(node, line)));
    const followed = followCluster(cluster, names, incident.happened);
    const [seen, life] = await Promise.all([incident.ended(), followed]);
    const records = await Promise.all(
      jobs.map((one) => until(`the record of ${one.name}`, 60_000, () => readRecord(kcover, one))),
    );
    await Promise.all([hooks.close(), receiver.close()]);
    const { storm: one, waves, halfOpen } = life;
    const isGood = (outcome: string) => outcome === 'restarted' || outcome === 'recovered';
    const notifications = receiver.ofStorms();
    return {
      seen,
      since,
      facts: {
        clusterIncident: one.id,
        nodes: one.nodes,
        jobs: records.map(({ job: { namespace, name }, outcome }) => ({ job: `${namespace}/${name}`, outcome })),
        notifications,
        waves: waves.map(({ number, since: at, ...wave }) => ({ number, at: new Date(at).toISOString(), ...wave })),
        halfOpen,
      },
      lines: [
        ['incident', `${one.id}: ${one.nodes.length} nodes`],
        ['people', `${notifications} notification of the incident`],
        ['waves', waves.map(({ recoveries, pods }) => `${recoveries} recoveries (${pods} pods)`).join(', ')],
        ['repairs', halfOpen.map(({ atOnce }) => `${atOnce} at once`).join(', ')],
      ],
      commands: ['npx kcover incidents', `npx kcover node history ${names[0]}`],
      ok:
        notifications === 1 &&
        waves.length > 1 &&
        records.every(({ outcome }) => isGood(outcome)) &&
        halfOpen.map(({ atOnce }) => atOnce).join() === '1,2,4',
    };
  },
};

async function startOthers({ api }: TestCluster): Promise<RunningJob[]> {
  await api.custom.createClusterCustomObject({
    group: 'scheduling.k8s.io',
    version: 'v1',
    plural: 'priorityclasses',
    body: { metadata: { name: priorityClass }, value: 1000, preemptionPolicy: 'Never' },
  });
  const manifests = others.map((name) =>
    pytorchJob({
      name,
      namespace: 'train',
      workers: 1,
      labels: { 'kcover.io/cascading-recovery': 'true' },
      ...(name === others.at(-1) && { priorityClass }),
    }),
  );
  const jobs = await Promise.all(manifests.map((manifest) => createJob(api, manifest)));
  for (const job of jobs) await awaitRunning(api, job);
  return jobs;
}

interface HalfOpen {
  readonly at: string;
  /** How many of the nodes may be under repair. */
  readonly atOnce: number;
  readonly repairing: readonly string[];
}

interface Followed {
  readonly storm: Storm;
  readonly waves: readonly Wave[];
  readonly halfOpen: readonly HalfOpen[];
}

/** Asks the workflow of the cluster until the incident is over, and then until every node is back. */
async function followCluster(
  cluster: TestCluster,
  nodes: readonly string[],
  happened: (what: string) => void,
): Promise<Followed> {
  const { address, namespace } = cluster.temporal;
  const connection = await Connection.connect({ address });
  const handle = new Client({ connection, namespace }).workflow.getHandle(clusterWorkflowId);
  let seen: Storm | undefined;
  let waves: readonly Wave[] = [];
  const halfOpen: HalfOpen[] = [];
  await until('the end of the incident', 180_000, async () => {
    const status = await handle.query<ClusterStatus>(statusQuery).catch(() => undefined);
    const open = status?.storms.find(({ cause }) => cause === 'xid-79');
    if (status) ({ waves } = status);
    if (open && !seen) happened(`${open.id} is one incident`);
    if (open) seen = open;
    const repairing = (status?.repairs ?? []).map(({ node }) => node);
    const level = [0, 1, 1, 2, 2, 2, 2][open?.helped ?? 0] ?? 0;
    const atOnce = 2 ** level;
    if (open && repairing.length > (halfOpen[level]?.repairing.length ?? 0)) {
      if (halfOpen[level] === undefined) happened(`${atOnce} of the nodes may be under repair at once`);
      halfOpen[level] = { at: halfOpen[level]?.at ?? new Date().toISOString(), atOnce, repairing };
    }
    return seen && !open ? { found: true } : { missing: `${seen?.nodes.length ?? 0} nodes in it` };
  });
  await until('every node is back', 120_000, async () => {
    const { items } = await cluster.api.core.listNode();
    const out = items.filter(({ spec }) => spec?.taints?.some(({ key }) => key === quarantineTaintKey));
    const missing = out.filter(({ metadata }) => nodes.includes(metadata?.name ?? ''));
    await sleep(100);
    return missing.length === 0 ? { found: true } : { missing: `${missing.length} are out` };
  });
  await connection.close();
  if (!seen) throw new Error('no incident was seen');
  happened('every node is back in service');
  return { storm: seen, waves, halfOpen: halfOpen.filter((one) => one !== undefined) };
}

interface Receiver {
  readonly url: string;
  /** How many notifications of a storm were received. */
  ofStorms(): number;
  close(): Promise<void>;
}

interface Alert {
  readonly labels: { readonly alertname: string };
}

/** Takes alerts as Alertmanager does: several that wait together arrive as one list. */
async function startReceiver(): Promise<Receiver> {
  const alerts: Alert[] = [];
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      alerts.push(...(JSON.parse(Buffer.concat(parts).toString()) as Alert[]));
      response.end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ofStorms: () => alerts.filter(({ labels }) => labels.alertname === `Kcover${eventReasons.storm}`).length,
    close() {
      server.closeAllConnections();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
}
