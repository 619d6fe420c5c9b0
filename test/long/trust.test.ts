import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { merge } from '../../testbed/api.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { podsOf } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { until } from '../../testbed/until.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, optIn, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

/** From three nodes of eight GPUs on, a person is asked. */
const askingSettings = { ...quick, recovery: { ...quick.recovery, approval: { dead: 24, within: '3m' } } };

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    workerSettings: askingSettings,
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

const uids = async (job: LiveJob): Promise<string[]> =>
  (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid ?? '');

/** The open incident, once it waits in this phase. */
const waits = (job: LiveJob, phase: RecoveryStatus['phase'], because = /./) =>
  until(`${job.name} ${phase}`, 120_000, async () => {
    const { incident } = await live.status(job);
    if (incident === undefined) return { missing: 'no incident' };
    const seen = await live.temporal.withDeadline(Date.now() + 5000, () =>
      live.temporal.workflow.getHandle(incident).query<RecoveryStatus>(statusQuery),
    );
    return seen.phase === phase && because.test(seen.because)
      ? { found: incident }
      : { missing: `${seen.phase}: ${seen.because}` };
  });

const lastNode = (job: LiveJob): SimulatedNode => {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} runs nowhere`);
  return node;
};

const crash = async (job: LiveJob): Promise<void> => {
  const pod = (await podsOf(live.cluster.api, job)).at(-1);
  if (!pod) throw new Error(`${job.name} has no pod`);
  await failContainer(live.cluster.api, pod, { exitCode: 1, restart: true });
};

describe('a large job', () => {
  it('is not stopped before a person approves, with name and reason', async () => {
    const job = await live.pytorch({ workers: 2 });
    const before = await uids(job);
    await breakGpu(lastNode(job), xid79);
    const incident = await waits(job, 'waiting for approval');
    expect(await uids(job)).toEqual(before);
    await live.event(job, 'ApprovalAsked', /an approval is needed from 24 GPUs on/);
    const said = await live.runCli('approve', incident, '--reason', 'seen the XID myself');
    expect([said.code, said.stderr]).toEqual([0, '']);
    const [record] = await live.settled(job);
    expect(record).toMatchObject({
      outcome: 'restarted',
      approvals: [{ approved: true, by: 'ada', reason: 'seen the XID myself' }],
    });
    expect(violations(await live.facts(job))).toEqual([]);
    expect((await live.runCli('deny', incident, '--reason', 'too late')).code).not.toBe(0);
  });

  it('is left alone when a person denies', async () => {
    const job = await live.pytorch({ workers: 2 });
    const before = await uids(job);
    await crash(job);
    const incident = await waits(job, 'waiting for approval');
    expect((await live.runCli('deny', incident, '--reason', 'the team looks at it')).code).toBe(0);
    const [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'refused', because: 'denied by ada: the team looks at it', stops: [] });
    expect(await uids(job)).toEqual(before);
  });
});

describe('a job with overrides of its recovery', () => {
  it('has its broken pod restarted alone', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.level]: 'pod' } });
    const before = await uids(job);
    await crash(job);
    const [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'restarted', stops: [{ by: 'pods', pods: [{ uid: before.at(-1) }] }] });
    const after = await uids(job);
    expect(after.filter((uid) => before.includes(uid))).toEqual(before.slice(0, -1));
  });

  it('is left alone in mode off, and restarted when a person asks for it', async () => {
    const job = await live.pytorch({ annotations: {}, labels: { ...optIn, 'fault-scheduling': 'off' } });
    const before = await uids(job);
    await crash(job);
    const [refused] = await live.settled(job);
    expect(refused).toMatchObject({
      outcome: 'refused',
      because: expect.stringContaining('mode of the job is off'),
      stops: [],
    });
    expect(await uids(job)).toEqual(before);
    expect((await live.runCli('recover', `pytorchjob/${job.name}`, '-n', job.namespace, '--reason', 'now')).code).toBe(
      0,
    );
    const records = await live.settled(job, { incidents: 2 });
    expect(records[1]).toMatchObject({ outcome: 'restarted', stops: [{ by: 'suspend' }] });
  });

  it('continues with fewer pods when there is no capacity for all', async () => {
    // Enough GPUs that two pods share no node, and few enough that no approval is needed.
    const job = await live.pytorch({
      workers: 2,
      gpus: 7,
      annotations: { [overrideAnnotations.capacity]: 'shrink', [overrideAnnotations.minReplicas]: '2' },
    });
    const own = new Set(job.nodes.map(({ name }) => name));
    const others = live.cluster.nodes.filter(({ name }) => !own.has(name));
    await setCordon(others, true);
    try {
      await breakGpu(lastNode(job), xid79);
      const smaller = { ...job, pods: 2 };
      const [record] = await live.settled(smaller);
      expect(record).toMatchObject({ outcome: 'restarted', pods: { before: 3, after: 2 }, stops: [{ by: 'suspend' }] });
      expect(record?.capacity?.map(({ kind }) => kind)).toEqual(['shrink']);
      expect(violations({ ...(await live.facts(job)), job: smaller })).toEqual([]);
    } finally {
      await setCordon(others, false);
    }
  });
});

describe('a job that a person has paused', () => {
  it('is not touched until it is resumed', async () => {
    const job = await live.pytorch();
    const name = [`pytorchjob/${job.name}`, '-n', job.namespace, '--reason', 'profiling'];
    const before = await uids(job);
    expect((await live.runCli('pause', ...name)).code).toBe(0);
    await crash(job);
    await until(`${job.name} paused`, 60_000, async () => {
      const { phase, because } = await live.status(job);
      return phase === 'paused' && because.includes('ended with exit code 1')
        ? { found: true }
        : { missing: `${phase}: ${because}` };
    });
    expect(await uids(job)).toEqual(before);
    const printed = await live.runCli('status', ...name.slice(0, 3));
    expect(printed.stdout).toContain('paused by ada: profiling');
    expect((await live.runCli('resume', ...name)).code).toBe(0);
    expect(await live.settled(job)).toMatchObject([{ outcome: 'restarted' }]);
  });

  it('has its recovery planned while nothing is changed', async () => {
    const job = await live.pytorch();
    const planned = await live.runCli(
      'plan',
      `pytorchjob/${job.name}`,
      '-n',
      job.namespace,
      '--fault',
      'xid/79',
      '--node',
      lastNode(job).name,
      '--output',
      'json',
    );
    expect([planned.code, planned.stderr]).toEqual([0, '']);
    expect(planned.stdout).toContain('suspend');
    expect(live.recorder.isQuarantined(lastNode(job).name)).toBe(false);
    expect(live.records(job)).toEqual([]);
  });
});

async function setCordon(nodes: readonly SimulatedNode[], unschedulable: boolean): Promise<void> {
  await Promise.all(
    nodes.map(({ name }) => live.cluster.api.core.patchNode({ name, body: { spec: { unschedulable } } }, merge)),
  );
}
