import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventReasons } from '../../contract/ids.ts';
import type { Server } from '../../testbed/servers/server.ts';
import { until } from '../../testbed/until.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { LivePreflight } from '../support/live-preflight.ts';
import { testServers } from '../support/rig.ts';

const reports = 16;
/** A killed controller leaves its Lease behind, and the next one waits for its expiry. */
const shortestLease = { leaderElection: { lease: '4s', renew: '3s', retry: '500ms' } };

let cluster: TestCluster;
let live: LiveKcover;
let preflight: LivePreflight;

// A test cluster of its own, because the others have fewer nodes.
beforeAll(async () => {
  cluster = await startTestCluster({ nodes: reports });
  live = await LiveKcover.start(cluster, {
    workflowBundle: testServers().workflowBundle,
    controllerSettings: shortestLease,
    agentsOn: [],
  });
  preflight = new LivePreflight(live);
  await preflight.agents.watch(cluster.nodes);
}, 300_000);
afterEach(() => preflight?.clear(), 120_000);
afterAll(async () => {
  await preflight?.close();
  await cluster?.stop();
});

const targetProcesses = ['controller', 'worker'] as const;
const processOf = (target: (typeof targetProcesses)[number]): Server | undefined =>
  target === 'controller' ? live.kcover.controller : live.kcover.workers[0];

describe.each(targetProcesses)('when the %s is killed in the middle of 16 simultaneous reports', (target) => {
  it('loses none of them, gives one verdict, and quarantines the slow node once', async () => {
    const job = await preflight.job({ pods: reports });
    const slow = job.testers[9]?.node ?? '';
    const before = preflight.quarantines(slow);
    await preflight.end(job, { slow: [slow] });
    await until('the first reports in Temporal', 60_000, async () =>
      (await preflight.signalled(job)) > 0 ? { found: true } : { missing: 'no signal' },
    );
    const process = processOf(target);
    await process?.kill('SIGKILL');
    await sleep(500);
    await process?.start();

    const { run, outcome, received, expected, verdict } = await preflight.verdict(job);
    expect({ run, outcome, received, expected }).toEqual({
      run: 1,
      outcome: 'judged',
      received: reports,
      expected: reports,
    });
    expect(verdict?.slow.map(({ node }) => node)).toEqual([slow]);
    await live.quarantined(preflight.nodeOf({ node: slow }));
    await live.event(job, eventReasons.preflightFailed, new RegExp(slow));
    await preflight.agents.seenSince(new Date());
    const events = await live.events(job);
    expect(events.filter(({ reason }) => reason === eventReasons.preflightFailed)).toHaveLength(1);
    expect(preflight.quarantines(slow)).toBe(before + 1);
    expect(await preflight.status(job)).toMatchObject({ run: 1, phase: 'waiting' });
  });
});
