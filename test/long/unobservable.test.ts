import { setTimeout as sleep } from 'node:timers/promises';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorRequest, statusQuery, updates } from '../../contract/wire/messages.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { type ApiProxy, openApiProxy } from '../../testbed/api-proxy.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { until } from '../../testbed/until.ts';
import { seeded } from '../kill/seeded.ts';
import { busyControllers, injectApiFaults } from '../kill/storm.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

const request: OperatorRequest = { by: 'ada', reason: 'the test needs time' };

let live: LiveKcover;
let proxy: ApiProxy;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const directory = join(cluster.directory, 'unobservable-proxy');
  mkdirSync(directory);
  const to = { server: cluster.kubernetes.server, authority: cluster.kubernetes.authority };
  proxy = await openApiProxy({ to, port: await new Ports(cluster.directory).take(), directory, draw: seeded(4) });
  const controllerSettings = { agents: { silent: '12s' }, ...busyControllers };
  live = await LiveKcover.start(cluster, {
    workflowBundle,
    agents: 'processes',
    workerSettings: quick,
    controllerSettings,
    through: proxy,
  });
});
afterEach(() => live.clear(), 120_000);
afterAll(async () => {
  await live?.close();
  await proxy?.close();
});

const pause = (paused: boolean) =>
  live.temporal.workflow
    .getHandle('cluster')
    .executeUpdate(paused ? updates.pause : updates.resume, { args: [request] });

/** Waits until the open recovery of the job holds, for a matching reason. */
const isOnHold = (job: LiveJob, why: RegExp) =>
  until(`${job.name} held`, 60_000, async () => {
    const { incident } = await live.status(job);
    if (incident === undefined) return { missing: 'no incident is open' };
    const { phase, because } = await live.temporal.workflow.getHandle(incident).query<RecoveryStatus>(statusQuery);
    return phase === 'held' && why.test(because) ? { found: true } : { missing: `${phase}: ${because}` };
  });

function lastOf(job: LiveJob) {
  const [node, pod] = [job.nodes.at(-1), job.first.at(-1)];
  if (!node || !pod) throw new Error(`${job.name} has no pod on a node`);
  return { node, pod };
}

const uidsNow = async (job: LiveJob) =>
  (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid ?? '').toSorted();
const uidsAtFirst = (job: LiveJob) => job.first.map(({ metadata }) => metadata?.uid ?? '').toSorted();

describe('without the API server', () => {
  it('an incident holds with that reason, nothing is done, and it continues when the server answers again', async () => {
    const job = await live.pytorch();
    await pause(true);
    await breakGpu(lastOf(job).node, xid79);
    await isOnHold(job, /paused/);
    try {
      proxy.setFaultProfile({ 'cut before': 1 });
      proxy.cutWatches();
      await pause(false);
      await isOnHold(job, /unobservable: the Kubernetes API did not answer/);
      expect(await uidsNow(job)).toEqual(uidsAtFirst(job));
    } finally {
      proxy.setFaultProfile({});
    }
    const [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'restarted', stops: [{ attempt: 1 }] });
    expect(violations(await live.facts(job))).toEqual([]);
  });
});

describe('an API server that answers badly', () => {
  it('counts as no fault: a healthy job is left alone through hundreds of errors, hangs and cut watches', async () => {
    const job = await live.pytorch();
    expect(await injectApiFaults(live, proxy, job, 300)).toEqual([]);
  }, 300_000);
});

describe('an agent that is silent while its node is ready', () => {
  it('delays the judgement of a pod failure, and its reports on return are read before anything is stopped', async () => {
    const job = await live.pytorch();
    const { node, pod } = lastOf(job);
    const agent = live.kcover.agents.get(node.name);
    // After the API faults another controller may have to become leader first, and it counts the silence of agents from then on.
    await until('the controller leads', 60_000, async () => {
      const metrics = await live.kcover.metricsOf(live.kcover.controller).catch(String);
      return /^kcover_leading\S* 1$/m.test(metrics) ? { found: true } : { missing: 'not yet' };
    });
    await agent?.kill('SIGKILL');
    await sleep(15_000);
    await breakGpu(node, xid79);
    await failContainer(live.cluster.api, pod, { exitCode: 1, restart: true });
    await until('the failure waits', 60_000, async () => {
      const { phase, because } = await live.status(job);
      return phase === 'waiting' && because.includes(`unobservable: the agent of ${node.name}`)
        ? { found: true }
        : { missing: `${phase}: ${because}` };
    });
    expect(await uidsNow(job)).toEqual(uidsAtFirst(job));

    await agent?.start();
    const [record] = await live.settled(job);
    expect(record?.faults.map(({ code }) => code).toSorted()).toEqual(['pod/exit', 'xid/79']);
    const facts = await live.facts(job);
    expect(suspendsOf(facts)).toHaveLength(1);
    expect(violations(facts)).toEqual([]);
  });
});
