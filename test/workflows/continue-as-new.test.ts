import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { jobWorkflowId, preflightWorkflowId } from '../../contract/ids.ts';
import type { ClusterStatus, ReserveAnswer, ReserveRequest } from '../../contract/cluster.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { PreflightStatus } from '../../contract/preflight/runs.ts';
import { obtainPrograms } from '../../testbed/parts/programs.ts';
import { createRunDirectory } from '../../testbed/run-directory.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { type Server } from '../../testbed/servers/server.ts';
import { temporal } from '../../testbed/servers/temporal.ts';
import { kernelFault, nodeView, podFaultNow, reserveLimit, stormRule, settings } from '../support/builders.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { reportsOf } from '../support/preflight-reports.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

let cluster: FakeCluster;
let rig: Rig;
let server: Server;
let directory: string;
let address: string;

const status = (handle: WorkflowHandle) => handle.query<JobStatus>('status');
const runIds = async (workflowId: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { runId } of rig.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) found.push(runId);
  return found;
};
const runs = async (workflowId: string): Promise<number> => (await runIds(workflowId)).length;

/** A Temporal server of its own that suggests a new run after very few events. */
describe('continue-as-new', () => {
  beforeAll(async () => {
    const programs = await obtainPrograms(() => undefined);
    directory = createRunDirectory();
    const ports = new Ports(directory);
    const [port, uiPort, httpPort, metricsPort] = [
      await ports.take(),
      await ports.take(),
      await ports.take(),
      await ports.take(),
    ];
    server = temporal({
      program: programs.temporal,
      directory,
      port,
      uiPort,
      httpPort,
      metricsPort,
      dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 30 },
    });
    await server.start();
    address = `127.0.0.1:${port}`;
    rig = await startRig(
      activitiesOf(() => cluster),
      { ownTemporal: address },
    );
  });
  beforeEach(() => {
    cluster = new FakeCluster();
    cluster.client = rig.client;
  });
  afterAll(async () => {
    await rig.close();
    await server.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });

  it('keeps the budget of a job, what it has seen, and its last incident', async () => {
    cluster.settings = settings({
      mode: 'act',
      recovery: { correlation: '1ms', budget: { recoveries: 3, backoff: { first: '1ms', most: '1ms' } } },
    });
    const workflowId = jobWorkflowId(cluster.job);
    const handle = await rig.client.workflow.start('trainingJob', {
      workflowId,
      taskQueue: rig.taskQueue,
      args: [{ job: cluster.job }],
    });
    const fault = (round: number) =>
      podFaultNow({ id: `pod/${round}`, pod: { name: 'llm-0', uid: `${round}`, createdAt: '2099-01-01T00:00:00Z' } });
    for (let round = 0; round < 3; round++) {
      await handle.signal('faultsObserved', { faults: [fault(round), fault(0)] });
      await eventually(
        () => status(handle),
        (seen) => seen.recoveriesThisHour === round + 1 && seen.phase === 'watching',
      );
    }
    await eventually(
      () => runs(workflowId),
      (count) => count > 1,
    );
    await handle.signal('faultsObserved', { faults: [fault(0), fault(1), fault(2)] });
    await handle.signal('faultsObserved', { faults: [fault(3)] });
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'refused',
    );
    expect(cluster.stopped).toHaveLength(3);
    await handle.terminate();
  });

  it('continues a job through an open incident: no fault is lost and nothing is stopped twice', async () => {
    cluster.settings = settings({ mode: 'act', recovery: { budget: { backoff: { first: '1ms', most: '1ms' } } } });
    let open = () => {};
    cluster.gate = new Promise((resolve) => (open = resolve));
    const workflowId = jobWorkflowId(cluster.job);
    const handle = await rig.client.workflow.start('trainingJob', {
      workflowId,
      taskQueue: rig.taskQueue,
      args: [{ job: cluster.job }],
    });
    await handle.signal('faultsObserved', { faults: [cluster.quarantined(kernelFault())] });
    await eventually(
      () => cluster.stopped.length,
      (stops) => stops === 1,
    );
    for (let index = 0; index < 12; index++) {
      await handle.signal('faultsObserved', {
        faults: [
          kernelFault({
            id: `kernel/other/${index}`,
            node: 'gpu-7',
            quarantine: { state: 'quarantined', because: 'x' },
          }),
        ],
      });
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'recovering',
      );
    }
    await eventually(
      () => runs(workflowId),
      (count) => count > 1,
    );
    open();
    // Faults that came too late for the recovery stay with the job and are handled next: none is lost.
    const recorded = () => new Set(cluster.records.flatMap((record) => record.faults.map((fault) => fault.id)));
    await eventually(
      () => recorded().size,
      (faults) => faults === 13,
    );
    expect(cluster.records[0]?.outcome).toBe('restarted');
    expect(cluster.stopped).toHaveLength(1);
    await handle.terminate();
  });

  it('keeps a job paused, and what waits for it', async () => {
    cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms' } });
    const workflowId = jobWorkflowId(cluster.job);
    const handle = await rig.client.workflow.start('trainingJob', {
      workflowId,
      taskQueue: rig.taskQueue,
      args: [{ job: cluster.job }],
    });
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'profiling' }] });
    for (let round = 0; round < 8; round++) {
      await handle.signal('faultsObserved', {
        faults: [
          podFaultNow({ id: `pod/${round}`, pod: { name: 'llm-0', uid: 'u', createdAt: '2099-01-01T00:00:00Z' } }),
        ],
      });
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'paused',
      );
    }
    await eventually(
      () => runs(workflowId),
      (count) => count > 1,
    );
    const seen = await eventually(
      () => status(handle),
      ({ phase }) => phase !== 'starting',
    );
    expect(seen).toMatchObject({ phase: 'paused', paused: { by: 'ada', reason: 'profiling' } });
    expect(cluster.stopped).toEqual([]);
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'done' }] });
    await eventually(
      () => cluster.records[0]?.faults.length,
      (faults) => faults === 8,
    );
    expect(cluster.reasons().filter((reason) => reason === 'JobPaused')).toHaveLength(2);
    await handle.terminate();
  });

  it('keeps a node quarantined', async () => {
    const node = 'gpu-without-jobs';
    cluster.nodes.set(node, nodeView({ name: node, uid: 'uid', systemUuid: 'machine' }));
    const start = (sequence: number) =>
      rig.client.workflow.signalWithStart('nodeQuarantine', {
        workflowId: `node/${node}`,
        taskQueue: rig.taskQueue,
        args: [{ node }],
        signal: 'faultsObserved',
        signalArgs: [
          { faults: [kernelFault({ node, id: `kernel/boot-1/${sequence}`, kernel: { bootId: 'boot-1', sequence } })] },
        ],
      });
    const handle = await start(1);
    const before = await eventually(
      () => handle.query<NodeStatus>('status'),
      (seen) => seen.phase === 'quarantined',
    );
    let sequence = 1;
    while ((await runs(`node/${node}`)) < 2 && sequence < 40) {
      sequence += 1;
      await start(sequence);
      await eventually(
        () => handle.query<NodeStatus>('status'),
        (seen) => seen.faults.length >= sequence,
      );
    }
    await eventually(
      () => runs(`node/${node}`),
      (count) => count > 1,
    );
    expect(await handle.query<NodeStatus>('status')).toMatchObject({ phase: 'quarantined', incident: before.incident });
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'done' }] });
    expect(await rig.client.workflow.getHandle(`node/${node}`).result()).toMatchObject({ outcome: 'released' });
    expect(cluster.nodes.get(node)).toMatchObject({ judged: { sequence } });
  });

  it('replays where queries were answered while decisions were made', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `gpu-queried-${index}`);
    for (const name of names) cluster.nodes.set(name, nodeView({ name, uid: name, systemUuid: name }));
    cluster.settings = settings({ mode: 'act' });
    const sends = names.map(async (node) => {
      const workflowId = `node/${node}`;
      for (let sequence = 1; sequence <= 12; sequence++) {
        const fault = kernelFault({
          node,
          id: `kernel/boot-1/${sequence}`,
          kernel: { bootId: 'boot-1', sequence },
          code: 'xid/43',
          action: 'ignore',
        });
        const handle = await rig.client.workflow.signalWithStart('nodeQuarantine', {
          workflowId,
          taskQueue: rig.taskQueue,
          args: [{ node }],
          signal: 'faultsObserved',
          signalArgs: [{ faults: [fault] }],
        });
        await Promise.all(Array.from({ length: 4 }, () => handle.query('status').catch(() => undefined)));
      }
    });
    await Promise.all(sends);
    for (const name of names) await rig.client.workflow.getHandle(`node/${name}`).terminate();
    for (const name of names) for (const runId of await runIds(`node/${name}`)) rig.replayAtEnd(`node/${name}`, runId);
  });

  it('keeps what rules count, also over a restart of the worker', async () => {
    const node = 'gpu-that-returns';
    cluster.nodes.set(node, nodeView({ name: node, uid: 'uid-returns', systemUuid: 'machine-returns' }));
    cluster.settings = settings({
      mode: 'act',
      faults: {
        rules: [
          {
            name: 'xid-13-same-place',
            codes: ['xid/13'],
            by: 'place',
            because: 'Xid 13 returned at the same GPC and TPC',
          },
        ],
      },
    });
    const workflowId = `node/${node}`;
    const send = (sequence: number, more: object) =>
      rig.client.workflow.signalWithStart('nodeQuarantine', {
        workflowId,
        taskQueue: rig.taskQueue,
        args: [{ node }],
        signal: 'faultsObserved',
        signalArgs: [
          {
            faults: [
              kernelFault({ node, id: `kernel/boot-1/${sequence}`, kernel: { bootId: 'boot-1', sequence }, ...more }),
            ],
          },
        ],
      });
    const warp = (minutesAgo: number) => ({
      code: 'xid/13',
      action: 'restart-app',
      message: 'Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address',
      seenAt: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
    });
    const handle = await send(1, warp(120));
    for (let sequence = 2; (await runs(workflowId)) < 2 && sequence < 40; sequence++) {
      await send(sequence, { code: 'xid/43', action: 'ignore' });
      await eventually(
        () => handle.query<NodeStatus>('status'),
        (seen) => seen.faults.length >= sequence,
      );
    }
    await eventually(
      () => runs(workflowId),
      (count) => count > 1,
    );
    const { taskQueue } = rig;
    await rig.close();
    rig = await startRig(
      activitiesOf(() => cluster),
      { ownTemporal: address, taskQueue },
    );
    await send(100, warp(0));
    const seen = await eventually(
      () => rig.client.workflow.getHandle(workflowId).query<NodeStatus>('status'),
      ({ phase }) => phase === 'quarantined',
    );
    expect(seen.because).toMatch(/Xid 13 returned at the same GPC and TPC/);
    expect(cluster.notifiedStates).toEqual([]);
    await rig.client.workflow.getHandle(workflowId).terminate();
  });

  it('keeps which preflight reports were judged, and the last verdict', async () => {
    const { job } = cluster;
    const workload = { namespace: job.namespace, name: job.name, uid: job.uid, job };
    const workflowId = preflightWorkflowId(workload);
    const send = (attempt: number) =>
      rig.client.workflow.signalWithStart('preflight', {
        workflowId,
        taskQueue: rig.taskQueue,
        args: [{ workload }],
        signal: 'reportsArrived',
        signalArgs: [{ reports: reportsOf({ size: 4, slow: [1], attempt }), refused: [] }],
      });
    const waiting = (run: number) =>
      eventually(
        () => rig.client.workflow.getHandle(workflowId).query<PreflightStatus>('status'),
        (seen) => seen.run === run && seen.phase === 'waiting',
      );
    for (const attempt of [1, 2, 3]) {
      await send(attempt);
      await waiting(attempt);
    }
    await eventually(
      () => runs(workflowId),
      (count) => count > 1,
    );
    for (const attempt of [1, 2, 3]) await send(attempt);
    expect(await waiting(3)).toMatchObject({
      last: { run: 3, outcome: 'judged', verdict: { slow: [{ node: 'gpu-1' }] } },
    });
    cluster.workload = { kind: 'gone', because: 'the job object is gone' };
    await rig.client.workflow.getHandle(workflowId).signal('podsGone');
    expect(await rig.client.workflow.getHandle(workflowId).result()).toMatchObject({ outcome: 'gone', runs: 3 });
    expect(cluster.notes.map(({ run }) => run)).toEqual([1, 2, 3]);
    expect(cluster.notified).toHaveLength(3);
  });

  it('keeps the nodes that are out, and has waiting workflows ask again', async () => {
    await rig.client.workflow.start('cluster', {
      workflowId: 'cluster',
      taskQueue: rig.taskQueue,
      args: [{ clusterUid: 'kube-system-uid' }],
    });
    const notified: string[] = [];
    cluster.onNotified = (ids) => notified.push(...ids);
    const limit = reserveLimit(1);
    const reserve = async (node: string) =>
      rig.client.workflow.getHandle('cluster').executeUpdate<ReserveAnswer[], [ReserveRequest]>('reserve', {
        args: [{ limit, storm: stormRule, wanted: [{ node, nodeUid: node, incident: `node/${node}` }] }],
      });
    await eventually(
      () => rig.client.workflow.getHandle('cluster').query<ClusterStatus>('status'),
      ({ phase }) => phase !== 'counting',
    );
    expect((await reserve('a'))[0]?.granted).toBe(true);
    await rig.client.workflow.getHandle('cluster').signal('waiting', { workflowId: 'node/b' });
    for (let again = 0; again < 12; again++) expect((await reserve('b'))[0]?.granted).toBe(false);
    await eventually(
      () => runs('cluster'),
      (count) => count > 1,
    );
    const { reservations } = await rig.client.workflow.getHandle('cluster').query<ClusterStatus>('status');
    expect(reservations).toMatchObject([{ node: 'a', incident: 'node/a' }]);
    // A new run cannot know what it missed while it continued as new: waiting workflows are notified to ask again.
    await eventually(
      () => notified,
      (ids) => ids.includes('node/b'),
    );
    await rig.client.workflow.getHandle('cluster').signal('returned', { nodeUids: ['a'] });
    expect((await reserve('b'))[0]?.granted).toBe(true);
    await rig.client.workflow.getHandle('cluster').terminate();
  });
});
