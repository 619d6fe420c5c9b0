import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { kernelFault, settings } from '../support/builders.ts';
import { ada, crash, degrading, ends, quick, recovering, trains } from '../support/training-recovery.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('levels and modes', () => {
  const jobRig = useJobRig();
  const set = (recovery: object = {}) => {
    jobRig.cluster.settings = settings({ mode: 'act', recovery: { ...quick, ...recovery } });
  };
  it('the broken pod is restarted first, and the whole job when that does not bring training back', async () => {
    set();
    trains(jobRig, { level: 'pod' });
    let looks = 0;
    jobRig.cluster.verified = (beyond) =>
      ++looks === 1
        ? { kind: 'unverified', because: 'no step' }
        : { kind: 'verified', progress: { step: beyond + 1, at: new Date().toISOString() }, because: 'it moves' };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.stopped.map(({ uids }) => uids.length)).toEqual([1, 4]);
    expect(jobRig.cluster.records[0]?.stops.map(({ by }) => by)).toEqual(['pods', 'suspend']);
    expect(jobRig.cluster.resumes).toBe(1);
    await jobRig.ended(handle);
  });

  it('the whole job is made smaller, where that is allowed and the broken pods alone find no capacity', async () => {
    set();
    trains(jobRig, { level: 'pod', capacity: 'shrink', minReplicas: 2 });
    jobRig.cluster.capacity = { fit: 3 };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.stopped.map(({ uids }) => uids.length)).toEqual([4]);
    expect(jobRig.cluster.records[0]).toMatchObject({ pods: { before: 4, after: 3 }, stops: [{ by: 'suspend' }] });
    expect(jobRig.cluster.records[0]?.timeline.map(({ what }) => what)).toContain('the whole job next');
    await jobRig.ended(handle);
  });

  it('broken pods wait for capacity where a smaller job would find none either, and are restarted alone when there is some', async () => {
    set();
    trains(jobRig, { level: 'pod', capacity: 'shrink', minReplicas: 4 });
    jobRig.cluster.capacity = { fit: 3 };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    const recovery = await recovering(jobRig, handle, 'held');
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      ({ phase, because }) => phase === 'held' && because.includes('it needs at least 4'),
    );
    jobRig.cluster.capacity = {};
    await recovery.signal('recheck');
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.stopped.map(({ uids }) => uids.length)).toEqual([1]);
    await jobRig.ended(handle);
  });

  it('a label that asks for a recovery while one is under way is removed, so that no later controller finds it', async () => {
    set();
    trains(jobRig);
    jobRig.cluster.paused = { by: 'bob', reason: 'maintenance' };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    const recovery = await recovering(jobRig, handle, 'held');
    await handle.signal('recover', { by: 'label', reason: 'need-recovery', label: true });
    await eventually(
      () => jobRig.cluster.labelsRemoved,
      (count) => count === 1,
    );
    await eventually(
      () => jobRig.cluster.announced.map(({ message }) => message).join(),
      (events) => events.includes('the label was removed'),
    );
    jobRig.cluster.paused = undefined;
    await recovery.signal('recheck');
    await ends(jobRig, handle, 'recovered');
    await jobRig.ended(handle);
    expect([jobRig.cluster.labelsRemoved, jobRig.cluster.stopped.length]).toEqual([1, 1]);
  });

  it('a pause of everything outlasts the deadline of other holds, and what waited is judged after it', async () => {
    set({ deadlines: { hold: '1s' } });
    trains(jobRig);
    jobRig.cluster.paused = { by: 'bob', reason: 'maintenance' };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    const recovery = await recovering(jobRig, handle, 'held');
    const saidThatItWaits = (times: number) =>
      eventually(
        async () =>
          (await recovery.fetchHistory()).events?.filter(
            (event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes,
          ).length ?? 0,
        (count) => count >= times,
      );
    await saidThatItWaits(1);
    await sleep(1500);
    expect((await recovery.query<RecoveryStatus>('status')).phase).toBe('held');
    // A notification about something else: each waiting workflow is notified once, and has to subscribe again.
    await recovery.signal('recheck');
    await saidThatItWaits(2);
    jobRig.cluster.paused = undefined;
    await recovery.signal('recheck');
    await ends(jobRig, handle, 'recovered');
    await jobRig.ended(handle);
  });

  it('nothing is stopped when the processes go on by themselves', async () => {
    set();
    trains(jobRig, { level: 'process' });
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    expect(await ends(jobRig, handle, 'recovered')).toContain('by themselves');
    expect([jobRig.cluster.asked, jobRig.cluster.stopped.length]).toEqual([1, 0]);
    await jobRig.ended(handle);
  });

  it('pods are deleted by force where the job says so, or when their grace period is over', async () => {
    set();
    trains(jobRig, { mode: 'force' });
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    expect(await ends(jobRig, handle, 'recovered')).toContain('not proven dead');
    expect(jobRig.cluster.stopped).toHaveLength(1);

    trains(jobRig);
    jobRig.cluster.podsRemain = true;
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    await eventually(
      () => jobRig.cluster.records.length,
      (count) => count === 2,
    );
    expect(jobRig.cluster.records[1]).toMatchObject({ outcome: 'recovered', stops: [{ forced: expect.any(Array) }] });
    await jobRig.ended(handle);
  });

  it('a paused job begins nothing, an open recovery of it holds, and both go on when it is resumed', async () => {
    set();
    const handle = await jobRig.start();
    expect(
      await eventually(
        () => handle.executeUpdate('pause', { args: [ada] }),
        () => true,
      ),
    ).toMatchObject({ by: 'ada' });
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'paused' && seen.paused?.by === 'ada',
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    expect(await handle.executeUpdate('resume', { args: [ada] })).toEqual({ wasPaused: true });
    await ends(jobRig, handle, 'restarted');

    set({ approval: { dead: 0 } });
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    await handle.executeUpdate('pause', { args: [ada] });
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      (seen) => seen.phase === 'held' && seen.because.includes('paused by ada'),
    );
    await handle.executeUpdate('resume', { args: [ada] });
    await recovering(jobRig, handle, 'waiting for approval');
    await recovery.executeUpdate('approve', { args: [ada] });
    await eventually(
      () => jobRig.cluster.records.length,
      (count) => count === 2,
    );
    await jobRig.ended(handle);
  });

  it('a change that does not affect the new attempt stops nothing again, and does not reset the level', async () => {
    set();
    trains(jobRig, { level: 'pod' });
    const proof = Promise.withResolvers<void>();
    let looks = 0;
    jobRig.cluster.verified = async (beyond) => {
      looks += 1;
      if (looks === 1) await proof.promise;
      if (looks === 1) return { kind: 'unverified', because: 'no step' };
      return { kind: 'verified', progress: { step: beyond + 1, at: new Date().toISOString() }, because: 'it moves' };
    };
    let open = () => {};
    jobRig.cluster.gate = new Promise((resolve) => (open = resolve));
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    await recovering(jobRig, handle, 'restarting');
    await handle.signal('faultsObserved', {
      faults: [jobRig.cluster.quarantined(kernelFault({ id: 'kernel/other/1', node: 'gpu-7' }))],
    });
    await eventually(
      async () =>
        (
          await jobRig.rig.client.workflow
            .getHandle((await jobRig.status(handle)).incident ?? '')
            .query<RecoveryStatus>('status')
        ).faults.length,
      (faults) => faults === 2,
    );
    open();
    proof.resolve();
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records.map(({ stops }) => stops.map(({ by }) => by))).toEqual([['pods', 'suspend']]);
    await jobRig.ended(handle);
  });

  it('an open question may be answered while its recovery is held', async () => {
    set({ approval: { dead: 0, within: '2m', otherwise: 'approve' } });
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [crash(jobRig)] });
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    await handle.executeUpdate('pause', { args: [ada] });
    await recovering(jobRig, handle, 'held');
    expect(await recovery.executeUpdate('deny', { args: [ada] })).toMatchObject({ approved: false });
    await handle.executeUpdate('resume', { args: [ada] });
    expect(await ends(jobRig, handle, 'refused')).toContain('denied by ada');
    expect(jobRig.cluster.stopped).toEqual([]);
    await jobRig.ended(handle);
  });

  it('mode observe reports the whole plan and does nothing', async () => {
    jobRig.cluster.settings = settings({ recovery: quick });
    trains(jobRig);
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(degrading())] });
    await ends(jobRig, handle, 'refused');
    const [record] = jobRig.cluster.records;
    expect(record?.timeline.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['would await a checkpoint (fresh)', 'would look for capacity', 'would restart the job']),
    );
    expect([jobRig.cluster.stopped, jobRig.cluster.captured]).toEqual([[], []]);
    await jobRig.ended(handle);
  });
});
