import { describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { CheckpointResult } from '../../contract/recovery/plan.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { ada, degrading, ends, quick, recovering, trains } from '../support/training-recovery.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('before a stop', () => {
  const jobRig = useJobRig();
  const set = (recovery: object) => {
    jobRig.cluster.settings = settings({ mode: 'act', recovery: { ...quick, ...recovery } });
  };
  const signalFault = (handle: WorkflowHandle, fault = degrading()) =>
    handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(fault)] });

  it('a person is asked where policy wants that, and nothing is stopped before the answer', async () => {
    set({ approval: { degrading: 1 }, checkpoint: { strategy: 'none' } });
    trains(jobRig);
    const handle = await jobRig.start();
    await signalFault(handle);
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    expect(jobRig.cluster.stopped).toEqual([]);
    await expect(recovery.executeUpdate('approve', { args: [{ by: '', reason: '' }] })).rejects.toThrow();
    expect(await recovery.executeUpdate('approve', { args: [ada] })).toMatchObject({ approved: true });
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]).toMatchObject({
      approvals: [{ approved: true, by: 'ada' }],
      stops: [{ attempt: 1 }],
    });
    await jobRig.ended(handle);
  });

  it('a denial ends the incident, and the same fault opens no other', async () => {
    set({ approval: { degrading: 1 } });
    trains(jobRig);
    const handle = await jobRig.start();
    await signalFault(handle);
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    await recovery.executeUpdate('deny', { args: [ada] });
    expect(await ends(jobRig, handle, 'refused')).toContain('denied by ada: looked at it');
    await signalFault(handle);
    await jobRig.ended(handle);
    expect([jobRig.cluster.stopped, jobRig.cluster.records.length]).toEqual([[], 1]);
  });

  it.each([
    ['deny', 'refused'],
    ['approve', 'recovered'],
  ] as const)('silence means %s where the settings say so', async (otherwise, outcome) => {
    set({ approval: { degrading: 1, within: '1s', otherwise }, checkpoint: { strategy: 'none' } });
    trains(jobRig);
    const handle = await jobRig.start();
    await signalFault(handle);
    await ends(jobRig, handle, outcome);
    expect(jobRig.cluster.records[0]?.approvals).toMatchObject([
      { by: 'kcover', reason: expect.stringContaining(`the settings then ${otherwise}`) },
    ]);
    await jobRig.ended(handle);
  });

  it('the next checkpoint is awaited while the job trains on, and the record has the calculation', async () => {
    set({});
    trains(jobRig);
    const handle = await jobRig.start();
    await signalFault(handle);
    await ends(jobRig, handle, 'recovered');
    const [record] = jobRig.cluster.records;
    expect(record?.checkpoints).toMatchObject([{ kind: 'saved', checkpointStep: 1201, attempt: 1 }]);
    expect(record?.decisions[0]).toMatchObject({
      plan: { checkpoint: { strategy: 'fresh', timing: { now: expect.any(Number) } } },
    });
    expect(jobRig.cluster.captured).toEqual([1]);
    await jobRig.ended(handle);
  });

  it('a job that fails while its checkpoint is awaited is stopped without it', async () => {
    set({});
    trains(jobRig);
    const waiting = Promise.withResolvers<CheckpointResult>();
    jobRig.cluster.checkpoint = () => waiting.promise;
    const handle = await jobRig.start();
    await signalFault(handle);
    await recovering(jobRig, handle, 'waiting for a checkpoint');
    const { name, uid } = jobRig.cluster.pods[1] ?? { name: '', uid: '' };
    await handle.signal('faultsObserved', {
      faults: [podFault({ pod: { name, uid, createdAt: new Date().toISOString() }, seenAt: new Date().toISOString() })],
    });
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]?.checkpoints).toBeUndefined();
    expect(jobRig.cluster.stopped).toHaveLength(1);
    // A worker ends when its activities have.
    waiting.resolve({ kind: 'missed', waitedMs: 1, because: 'nobody waits any more' });
    await jobRig.ended(handle);
  });

  it('a final checkpoint is awaited between the stop and the next attempt', async () => {
    set({});
    trains(jobRig, { checkpoint: 'on-termination' });
    let stopsBefore = 0;
    jobRig.cluster.checkpoint = ({ atLeast }) => {
      stopsBefore = jobRig.cluster.stopped.length;
      return { kind: 'saved', checkpointStep: atLeast, waitedMs: 5, because: 'saved' };
    };
    const handle = await jobRig.start();
    await signalFault(handle);
    await ends(jobRig, handle, 'recovered');
    expect([stopsBefore, jobRig.cluster.resumes]).toEqual([1, 1]);
    expect(jobRig.cluster.records[0]?.checkpoints).toMatchObject([{ kind: 'saved', checkpointStep: 1290 }]);
    await jobRig.ended(handle);
  });

  it('a recovery of one of several nodes with one cause waits for its wave, and trains on meanwhile', async () => {
    set({ checkpoint: { strategy: 'none' }, waves: { pods: 7 } });
    trains(jobRig);
    jobRig.cluster.wave = { granted: false, because: '3 recoveries come before this one', lookAgainMs: 200 };
    const handle = await jobRig.start();
    const fault = jobRig.cluster.quarantined(degrading());
    const quarantine = { state: 'quarantined', because: 'x', ...fault.quarantine, storm: 'storm/xid-79/rack=r7' };
    await handle.signal('faultsObserved', { faults: [{ ...fault, quarantine }] });
    const recovery = await recovering(jobRig, handle, 'held');
    const { because, until } = await recovery.query<RecoveryStatus>('status');
    expect([because, until]).toEqual([
      'waits for a wave: 3 recoveries come before this one',
      expect.stringMatching(/^\d{4}-/),
    ]);
    expect(jobRig.cluster.stopped).toEqual([]);
    jobRig.cluster.wave = { granted: true, wave: 4 };
    await ends(jobRig, handle, 'recovered');
    const [record] = jobRig.cluster.records;
    expect(record?.timeline.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['waits for a wave', 'begins in wave 4']),
    );
    expect(jobRig.cluster.wavesAsked.at(-1)).toMatchObject({ pods: 4, rule: { pods: 7, everyMs: 60_000 } });
    await jobRig.ended(handle);
  });

  it('a recovery that has waited too long for its wave begins, and says so', async () => {
    set({ checkpoint: { strategy: 'none' }, waves: { most: '1s' } });
    trains(jobRig);
    jobRig.cluster.wave = { granted: false, because: 'others come before this one', lookAgainMs: 60_000 };
    const handle = await jobRig.start();
    const fault = jobRig.cluster.quarantined(degrading());
    const quarantine = { state: 'quarantined', because: 'x', ...fault.quarantine, storm: 'storm/xid-79/rack=r7' };
    await handle.signal('faultsObserved', { faults: [{ ...fault, quarantine }] });
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]?.timeline).toContainEqual(
      expect.objectContaining({ what: 'begins outside of the waves', because: 'it has waited for 1s' }),
    );
    await jobRig.ended(handle);
  });

  it('nothing is stopped while there is no capacity, and it goes on when there is', async () => {
    set({ checkpoint: { strategy: 'none' } });
    trains(jobRig);
    jobRig.cluster.capacity = { fit: 3, because: '1 node: taint maintenance=true' };
    const handle = await jobRig.start();
    await signalFault(handle);
    const recovery = await recovering(jobRig, handle, 'held');
    expect(jobRig.cluster.stopped).toEqual([]);
    expect((await recovery.query<RecoveryStatus>('status')).because).toContain(
      'capacity for 3 of 4 pods (1 node: taint maintenance=true)',
    );
    jobRig.cluster.capacity = {};
    await recovery.signal('recheck');
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]?.capacity?.map(({ kind }) => kind)).toEqual(['hold', 'go']);
    await jobRig.ended(handle);
  });

  it('a failed look after one that found no capacity stops nothing, unless the job is dead', async () => {
    set({ checkpoint: { strategy: 'none' } });
    trains(jobRig);
    jobRig.cluster.capacity = { fit: 3, because: '1 node: cordoned' };
    const handle = await jobRig.start();
    await signalFault(handle);
    const recovery = await recovering(jobRig, handle, 'held');
    jobRig.cluster.capacity = 'unseen';
    await recovery.signal('recheck');
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      ({ phase, because }) =>
        phase === 'held' && because.includes('the nodes cannot be observed now, and there was no capacity before'),
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    const { name, uid } = jobRig.cluster.pods[1] ?? { name: '', uid: '' };
    const at = new Date().toISOString();
    await handle.signal('faultsObserved', { faults: [podFault({ pod: { name, uid, createdAt: at }, seenAt: at })] });
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('capacity that was found before a fault came is looked up again', async () => {
    set({ checkpoint: { strategy: 'none' } });
    trains(jobRig);
    const looking = Promise.withResolvers<void>();
    let looks = 0;
    jobRig.cluster.beforeCapacityAnswer = async () => {
      looks += 1;
      await looking.promise;
    };
    const handle = await jobRig.start();
    await signalFault(handle);
    const recovery = await recovering(jobRig, handle, 'checking capacity');
    // The first is a local activity, during which nothing arrives.
    await eventually(
      () => looks,
      (count) => count === 2,
    );
    await signalFault(handle, degrading({ id: 'kernel/boot-1/300' }));
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      ({ faults }) => faults.length === 2,
    );
    looking.resolve();
    await eventually(
      () => looks,
      (count) => count >= 3,
    );
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('an incident is escalated when there is no capacity until the deadline, or when nothing can be observed and the job still trains', async () => {
    set({ checkpoint: { strategy: 'none' }, deadlines: { hold: '1s' } });
    trains(jobRig);
    jobRig.cluster.capacity = { fit: 3, because: '1 node: cordoned' };
    const handle = await jobRig.start();
    await signalFault(handle);
    expect(await ends(jobRig, handle, 'escalated')).toContain(
      'still no capacity after its deadline: capacity for 3 of 4 pods',
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    jobRig.cluster.capacity = 'unseen';
    await signalFault(handle, degrading({ id: 'kernel/boot-1/300' }));
    await eventually(
      () => jobRig.cluster.records.map(({ because }) => because),
      (reasons) => reasons[1]?.includes('the nodes cannot be observed now, and the job still trains') === true,
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    await jobRig.ended(handle);
  });

  it('a job that does not train any more is restarted where nothing can be observed, and the record says so', async () => {
    set({ checkpoint: { strategy: 'none' }, capacity: { dead: 'hold' } });
    jobRig.cluster.capacity = 'unseen';
    const handle = await jobRig.start();
    await signalFault(handle, kernelFault());
    await ends(jobRig, handle, 'restarted');
    expect(jobRig.cluster.records[0]?.timeline.map(({ what }) => what)).toContain('capacity unknown');
    await jobRig.ended(handle);
  });

  it('a pause of everything that comes while a checkpoint is awaited is kept', async () => {
    set({});
    trains(jobRig);
    const waiting = Promise.withResolvers<CheckpointResult>();
    jobRig.cluster.checkpoint = () => waiting.promise;
    const handle = await jobRig.start();
    await signalFault(handle);
    const recovery = await recovering(jobRig, handle, 'waiting for a checkpoint');
    jobRig.cluster.paused = { by: 'bob', reason: 'maintenance' };
    waiting.resolve({ kind: 'saved', checkpointStep: 1300, waitedMs: 1, because: 'step 1300 is saved' });
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      (seen) => seen.phase === 'held',
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    jobRig.cluster.paused = undefined;
    await recovery.signal('recheck');
    await ends(jobRig, handle, 'recovered');
    await jobRig.ended(handle);
  });

  it('a final checkpoint that no process acknowledges delays the next attempt no longer than its deadline', async () => {
    set({});
    trains(jobRig, { checkpoint: 'on-termination' });
    jobRig.cluster.checkpoint = () => ({
      kind: 'missed',
      waitedMs: 60_000,
      because: 'no checkpoint of step 1290 within 1m',
    });
    const handle = await jobRig.start();
    await signalFault(handle);
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]?.timeline.map(({ what }) => what)).toContain('no checkpoint acknowledged');
    await jobRig.ended(handle);
  });

  it('standby nodes are taken once, and a job that allows it is made smaller while nothing runs', async () => {
    set({ checkpoint: { strategy: 'none' }, capacity: { short: 'standby' } });
    trains(jobRig);
    jobRig.cluster.capacity = { fit: 3, fitWithStandby: 4, standbyNodes: ['gpu-9'] };
    const handle = await jobRig.start();
    await signalFault(handle);
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.standbyTaken).toEqual(['gpu-9']);

    trains(jobRig, { capacity: 'shrink', minReplicas: 2 });
    jobRig.cluster.capacity = { fit: 3 };
    await signalFault(handle, degrading({ id: 'kernel/boot-1/200', node: jobRig.cluster.pods[0]?.node ?? '' }));
    await eventually(
      () => jobRig.cluster.records.length,
      (count) => count === 2,
    );
    expect(jobRig.cluster.resized).toMatchObject([{ pods: 3 }]);
    expect(jobRig.cluster.records[1]).toMatchObject({ pods: { before: 4, after: 3 }, outcome: 'recovered' });
    await jobRig.ended(handle);
  });
});
