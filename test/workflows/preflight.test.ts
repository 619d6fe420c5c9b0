import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { preflightFaults } from '../../contract/faults/faults.ts';
import { preflightWorkflowId } from '../../contract/ids.ts';
import type { CollectedReport, Workload } from '../../contract/preflight/preflight.ts';
import type { PreflightOutcome, PreflightStatus } from '../../contract/preflight/runs.ts';
import { settings } from '../support/builders.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { podOf, reportOf, reportsOf } from '../support/preflight-reports.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

let cluster: FakeCluster;
let rig: Rig;
let workload: Workload;
const started: string[] = [];

const signal = async (name: string, payload: object): Promise<WorkflowHandle> => {
  const workflowId = preflightWorkflowId(workload);
  started.push(workflowId);
  return rig.client.workflow.signalWithStart('preflight', {
    workflowId,
    taskQueue: rig.taskQueue,
    args: [{ workload }],
    signal: name,
    signalArgs: [payload],
  });
};
const send = (reports: readonly CollectedReport[], refused: object[] = []) =>
  signal('reportsArrived', { reports, refused });
const status = (handle: WorkflowHandle) => handle.query<PreflightStatus>('status');
const judged = (handle: WorkflowHandle, run = 1) =>
  eventually(
    () => status(handle),
    ({ last, phase }) => last?.run === run && phase === 'waiting',
  );
const ended = async (handle: WorkflowHandle): Promise<PreflightOutcome> => {
  cluster.workload = { kind: 'gone', because: 'the job object is gone' };
  await handle.signal('podsGone');
  return handle.result() as Promise<PreflightOutcome>;
};

describe('the workflow that collects preflight reports', () => {
  beforeAll(async () => {
    rig = await startRig(activitiesOf(() => cluster));
  });
  beforeEach(() => {
    cluster = new FakeCluster();
    workload = { namespace: 'train', name: 'llm', uid: randomUUID(), job: cluster.job };
  });
  afterAll(async () => {
    for (const id of new Set(started)) rig.replayAtEnd(id);
    await rig.close();
  });

  it('judges once when every rank has reported, and notifies the slow node, the job and people', async () => {
    const reports = reportsOf({ size: 8, slow: [3] });
    await Promise.all(reports.slice(1).map((report) => send([report])));
    const handle = await send(reports.slice(0, 1));
    const { last } = await judged(handle);
    expect(last).toMatchObject({
      outcome: 'judged',
      received: 8,
      expected: 8,
      verdict: { counts: { slow: 1, healthy: 7 } },
    });
    expect(cluster.notified).toMatchObject([
      { source: 'preflight', code: preflightFaults.slow, node: 'gpu-3', job: cluster.job.uid },
    ]);
    expect(cluster.notes).toMatchObject([{ run: 1, outcome: 'judged', slow: ['gpu-3'], received: 8 }]);
    expect(cluster.reasons()).toEqual(['PreflightFailed']);
    expect(await ended(handle)).toMatchObject({ outcome: 'gone', runs: 1 });
  });

  it('notifies only the job when all nodes are healthy', async () => {
    const handle = await send(reportsOf({ size: 4 }));
    expect((await judged(handle)).last).toMatchObject({ outcome: 'judged', verdict: { counts: { healthy: 4 } } });
    expect(cluster.notified).toEqual([]);
    expect(cluster.reasons()).toEqual(['PreflightPassed']);
    await ended(handle);
  });

  it('counts a rank once, takes its newest file, and judges nothing that is sent again', async () => {
    const reports = reportsOf({ size: 4, slow: [1] });
    const handle = await send(reports.slice(0, 3));
    const rewritten = reportOf({ size: 4, slow: [1] }, 2);
    await send([...reports.slice(0, 3), { ...rewritten, writtenAt: '2026-11-21T08:00:00Z' }]);
    expect(
      await eventually(
        () => status(handle),
        ({ received, phase }) => received === 3 && phase === 'collecting',
      ),
    ).toMatchObject({ phase: 'collecting', expected: 4, missing: [3] });
    await send(reports.slice(3));
    await judged(handle);
    await send(reports);
    await send([{ ...rewritten, writtenAt: '2026-11-21T09:00:00Z' }]);
    expect(await status(handle)).toMatchObject({ run: 1, phase: 'waiting' });
    expect(cluster.notified).toHaveLength(1);
    await ended(handle);
  });

  it('opens the next run for new pods, whether or not the last was complete', async () => {
    const handle = await send(reportsOf({ size: 4 }).slice(0, 2));
    await send(reportsOf({ size: 4, attempt: 2 }));
    expect((await judged(handle, 2)).last).toMatchObject({ run: 2, outcome: 'judged', received: 4 });
    await send(reportsOf({ size: 4, attempt: 1 }).slice(2));
    await send(reportsOf({ size: 4, attempt: 3, slow: [0] }));
    expect((await judged(handle, 3)).last).toMatchObject({ run: 3, verdict: { counts: { slow: 1 } } });
    expect(await ended(handle)).toMatchObject({ runs: 3 });
  });

  it('acts on a broken node at once, and notifies it only once', async () => {
    const truth = { size: 6, broken: [2] };
    const handle = await send([reportOf(truth, 2)]);
    await eventually(
      () => cluster.notified.length,
      (notified) => notified === 1,
    );
    expect(cluster.notified).toMatchObject([{ code: preflightFaults.gpu, node: 'gpu-2' }]);
    await send(reportsOf(truth));
    expect((await judged(handle)).last).toMatchObject({
      outcome: 'judged',
      received: 6,
      verdict: { counts: { failed: 1 } },
    });
    expect(cluster.notified).toHaveLength(1);
    await ended(handle);
  });

  it('acts on a broken node that pods share as soon as one of them sees all of it held, and says nothing of it before', async () => {
    const truth = { size: 6, broken: [2] };
    const early = { ...reportOf(truth, 2), share: { asked: 4, of: 8 } };
    const beside = reportOf(truth, 3);
    const handle = await send([early]);
    await eventually(
      () => status(handle),
      ({ received, phase }) => received === 1 && phase === 'collecting',
    );
    expect([cluster.notified, cluster.reasons()]).toEqual([[], []]);
    await send([{ ...beside, report: { ...beside.report, node: early.report.node } }]);
    await eventually(
      () => cluster.reasons(),
      (reasons) => reasons.length > 0,
    );
    expect(cluster.notified).toMatchObject([{ code: preflightFaults.gpu, node: 'gpu-2' }]);
    expect(cluster.reasons()).toEqual(['PreflightFailed']);
    await ended(handle);
  });

  it('convicts no node for pods that hold a part of it, and counts the run as undetermined', async () => {
    const handle = await send(
      reportsOf({ size: 8, slow: [3], broken: [5] }).map((report) => ({ ...report, share: { asked: 0, of: 8 } })),
    );
    expect((await judged(handle)).last).toMatchObject({
      outcome: 'judged',
      verdict: { failed: [], slow: [], counts: { failed: 0, slow: 0, undetermined: 2 } },
    });
    expect(cluster.notified).toEqual([]);
    expect(cluster.reasons()).toEqual(['PreflightUndetermined']);
    await ended(handle);
  });

  it('notifies the others at once when one node cannot be notified, says so, and notifies that one later', async () => {
    cluster.unnotifiable.add('gpu-3');
    const handle = await send(reportsOf({ size: 8, slow: [3, 6] }));
    const { because } = await eventually(
      () => status(handle),
      (seen) => seen.because.includes('cannot be notified'),
    );
    expect(because).toBe('gpu-3 cannot be notified yet: the namespace is full');
    expect(cluster.notified.map(({ node }) => node)).toEqual(['gpu-6']);
    cluster.unnotifiable.clear();
    const { last } = await judged(handle);
    expect(cluster.notified.map(({ node }) => node)).toEqual(['gpu-6', 'gpu-3']);
    expect(last?.unnotified).toBeUndefined();
    await ended(handle);
  });

  it('does not mix the reports of two sets of pods, though the first was cut short by a broken node', async () => {
    await signal('podsTesting', { pod: podOf(0, 1) });
    const handle = await send([reportOf({ size: 8, broken: [3] }, 3)]);
    await eventually(
      () => cluster.notified.length,
      (notified) => notified === 1,
    );
    await signal('podsTesting', { pod: podOf(0, 2) });
    await send(reportsOf({ size: 8, attempt: 2, slow: [1] }));
    await send(reportsOf({ size: 8, attempt: 1 }));
    expect((await judged(handle, 2)).last).toMatchObject({
      run: 2,
      outcome: 'judged',
      received: 8,
      verdict: { slow: [{ node: 'gpu-1' }] },
    });
    expect(cluster.notified.map(({ node }) => node)).toEqual(['gpu-3', 'gpu-1']);
    await ended(handle);
  });

  it('keeps a collection when a rank reports another size', async () => {
    const handle = await send(reportsOf({ size: 4 }).slice(0, 3));
    const [wrong] = reportsOf({ size: 6 }).slice(3);
    await send(wrong ? [wrong] : []);
    const { refused } = await eventually(
      () => status(handle),
      (seen) => seen.refused.length === 1,
    );
    expect(refused).toMatchObject([{ rank: 3, what: 'workload_size' }]);
    await send(reportsOf({ size: 4 }).slice(3));
    expect((await judged(handle)).last).toMatchObject({ outcome: 'judged', received: 4 });
    await ended(handle);
  });

  it('decides which pod is newer by the API server and not by the clocks of nodes', async () => {
    const early = reportsOf({ size: 4 }).map((one) => ({ ...one, writtenAt: '2026-11-21T09:00:00Z' }));
    const handle = await send(early);
    await judged(handle);
    await send(reportsOf({ size: 4, attempt: 2, slow: [1] }));
    expect((await judged(handle, 2)).last).toMatchObject({ outcome: 'judged', verdict: { slow: [{ node: 'gpu-1' }] } });
    await ended(handle);
  });

  it('judges what came before it ends with its workload', async () => {
    const handle = await send(reportsOf({ size: 8, slow: [3] }).slice(0, 7));
    expect(await ended(handle)).toMatchObject({ outcome: 'gone', runs: 1 });
    expect(cluster.notified).toMatchObject([{ node: 'gpu-3' }]);
  });

  it('says what is missing when time is up, and judges what came; a late report opens the next run', async () => {
    cluster.settings = settings({ mode: 'act', preflight: { collection: '300ms' } });
    const reports = reportsOf({ size: 8, slow: [3] });
    const handle = await send(reports.slice(0, 7));
    const { last } = await judged(handle);
    expect(last).toMatchObject({ outcome: 'expired', received: 7, expected: 8, verdict: { missing: [7] } });
    expect(last?.because).toContain('7 of 8 reports came; ranks 7 are missing');
    expect(cluster.reasons()).toEqual(['PreflightIncomplete']);
    expect(cluster.notified).toMatchObject([{ node: 'gpu-3' }]);
    cluster.settings = settings({ mode: 'act' });
    await send(reports.slice(7));
    await eventually(
      () => status(handle),
      ({ run, phase }) => run === 2 && phase === 'collecting',
    );
    await ended(handle);
  });

  it('ends at its deadline although reports keep coming', async () => {
    cluster.settings = settings({ mode: 'act', preflight: { deadline: '400ms' } });
    const handle = await send(reportsOf({ size: 8 }).slice(0, 2));
    expect((await judged(handle)).last).toMatchObject({ outcome: 'expired', received: 2 });
    await ended(handle);
  });

  it('says so when pods test and never report', async () => {
    cluster.settings = settings({ mode: 'act', preflight: { collection: '200ms' } });
    const handle = await signal('podsTesting', { pod: podOf(0) });
    expect((await judged(handle)).last).toMatchObject({
      outcome: 'expired',
      received: 0,
      because: 'pods tested, and no report came',
    });
    expect(cluster.reasons()).toEqual(['PreflightIncomplete']);
    expect(cluster.notified).toEqual([]);
    await ended(handle);
  });

  it('keeps what was refused for people to see, and drops what it cannot read', async () => {
    const refused = {
      rank: 2,
      node: 'gpu-2',
      what: 'pair',
      because: 'batch 0: pair must name two hosts',
      at: '2026-11-21T07:01:00Z',
    };
    const handle = await send([{ report: 'nonsense' } as never], [refused]);
    expect(
      await eventually(
        () => status(handle),
        ({ dropped }) => dropped === 1,
      ),
    ).toMatchObject({ refused: [refused], phase: 'waiting' });
    await ended(handle);
  });

  it('goes on when its pods are gone and the workload is not', async () => {
    const handle = await send(reportsOf({ size: 4 }));
    await judged(handle);
    await handle.signal('podsGone');
    await send(reportsOf({ size: 4, attempt: 2 }));
    expect((await judged(handle, 2)).last).toMatchObject({ run: 2, outcome: 'judged' });
    await ended(handle);
  });
});
