import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { RecoveryStatus } from '../../contract/recovery.ts';
import { kernelFault, settings } from '../support/builders.ts';
import { ada, crash, degrading, ends, quick, recovering, trains } from '../support/careful.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('levels and modes', () => {
  const story = useJobRig();
  const set = (recovery: object = {}) => {
    story.cluster.settings = settings({ mode: 'act', recovery: { ...quick, ...recovery } });
  };
  it('the broken pod goes first, and the whole job when that does not bring training back', async () => {
    set();
    trains(story, { level: 'pod' });
    let looks = 0;
    story.cluster.verified = (beyond) =>
      ++looks === 1
        ? { kind: 'unverified', because: 'no step' }
        : { kind: 'verified', progress: { step: beyond + 1, at: new Date().toISOString() }, because: 'it moves' };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    await ends(story, handle, 'recovered');
    expect(story.cluster.stopped.map(({ uids }) => uids.length)).toEqual([1, 4]);
    expect(story.cluster.records[0]?.stops.map(({ by }) => by)).toEqual(['pods', 'suspend']);
    expect(story.cluster.resumes).toBe(1);
    await story.ended(handle);
  });

  it('the whole job is made smaller where the broken pods alone find no room, and it may be', async () => {
    set();
    trains(story, { level: 'pod', capacity: 'shrink', minReplicas: 2 });
    story.cluster.room = { fit: 3 };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    await ends(story, handle, 'recovered');
    expect(story.cluster.stopped.map(({ uids }) => uids.length)).toEqual([4]);
    expect(story.cluster.records[0]).toMatchObject({ pods: { before: 4, after: 3 }, stops: [{ by: 'suspend' }] });
    expect(story.cluster.records[0]?.timeline.map(({ what }) => what)).toContain('the whole job next');
    await story.ended(handle);
  });

  it('broken pods wait for room where a smaller job would find none either, and alone go when there is', async () => {
    set();
    trains(story, { level: 'pod', capacity: 'shrink', minReplicas: 4 });
    story.cluster.room = { fit: 3 };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    const recovery = await recovering(story, handle, 'held');
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      ({ phase, because }) => phase === 'held' && because.includes('it needs at least 4'),
    );
    story.cluster.room = {};
    await recovery.signal('permissionChanged');
    await ends(story, handle, 'recovered');
    expect(story.cluster.stopped.map(({ uids }) => uids.length)).toEqual([1]);
    await story.ended(handle);
  });

  it('a label that asks for a recovery while one is under way is removed, so that nobody finds it later', async () => {
    set();
    trains(story);
    story.cluster.paused = { by: 'bob', reason: 'maintenance' };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    const recovery = await recovering(story, handle, 'held');
    await handle.signal('recover', { by: 'label', reason: 'need-recovery', label: true });
    await eventually(
      () => story.cluster.labelsRemoved,
      (count) => count === 1,
    );
    await eventually(
      () => story.cluster.announced.map(({ message }) => message).join(),
      (told) => told.includes('the label was removed'),
    );
    story.cluster.paused = undefined;
    await recovery.signal('permissionChanged');
    await ends(story, handle, 'recovered');
    await story.ended(handle);
    expect([story.cluster.labelsRemoved, story.cluster.stopped.length]).toEqual([1, 1]);
  });

  it('a pause of everything outlasts the deadline of other holds, and what waited is judged after it', async () => {
    set({ deadlines: { hold: '1s' } });
    trains(story);
    story.cluster.paused = { by: 'bob', reason: 'maintenance' };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    const recovery = await recovering(story, handle, 'held');
    const saidThatItWaits = (times: number) =>
      eventually(
        async () => (await recovery.fetchHistory()).events?.filter((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes).length ?? 0,
        (count) => count >= times,
      );
    await saidThatItWaits(1);
    await sleep(1500);
    expect((await recovery.query<RecoveryStatus>('status')).phase).toBe('held');
    // Somebody else's news: whoever waits is told once, and has to say again that it waits.
    await recovery.signal('permissionChanged');
    await saidThatItWaits(2);
    story.cluster.paused = undefined;
    await recovery.signal('permissionChanged');
    await ends(story, handle, 'recovered');
    await story.ended(handle);
  });

  it('nothing is stopped when the processes go on by themselves', async () => {
    set();
    trains(story, { level: 'process' });
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    expect(await ends(story, handle, 'recovered')).toContain('by themselves');
    expect([story.cluster.asked, story.cluster.stopped.length]).toEqual([1, 0]);
    await story.ended(handle);
  });

  it('pods go by force where the job says so, or when their time to end is over', async () => {
    set();
    trains(story, { mode: 'force' });
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    expect(await ends(story, handle, 'recovered')).toContain('not proven dead');
    expect(story.cluster.stopped).toHaveLength(1);

    trains(story);
    story.cluster.lingers = true;
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    await eventually(
      () => story.cluster.records.length,
      (count) => count === 2,
    );
    expect(story.cluster.records[1]).toMatchObject({ outcome: 'recovered', stops: [{ forced: expect.any(Array) }] });
    await story.ended(handle);
  });

  it('a paused job begins nothing, an open recovery of it holds, and both go on when it is resumed', async () => {
    set();
    const handle = await story.start();
    expect(
      await eventually(
        () => handle.executeUpdate('pause', { args: [ada] }),
        () => true,
      ),
    ).toMatchObject({ by: 'ada' });
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    await eventually(
      () => story.status(handle),
      (seen) => seen.phase === 'paused' && seen.paused?.by === 'ada',
    );
    expect(story.cluster.stopped).toEqual([]);
    expect(await handle.executeUpdate('resume', { args: [ada] })).toEqual({ wasPaused: true });
    await ends(story, handle, 'restarted');

    set({ approval: { dead: 0 } });
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    const recovery = await recovering(story, handle, 'waiting for approval');
    await handle.executeUpdate('pause', { args: [ada] });
    await eventually(
      () => recovery.query<RecoveryStatus>('status'),
      (seen) => seen.phase === 'held' && seen.because.includes('paused by ada'),
    );
    await handle.executeUpdate('resume', { args: [ada] });
    await recovering(story, handle, 'waiting for approval');
    await recovery.executeUpdate('approve', { args: [ada] });
    await eventually(
      () => story.cluster.records.length,
      (count) => count === 2,
    );
    await story.ended(handle);
  });

  it('news that does not touch the new attempt stops nothing again, and a level is not forgotten for it', async () => {
    set();
    trains(story, { level: 'pod' });
    const proof = Promise.withResolvers<void>();
    let looks = 0;
    story.cluster.verified = async (beyond) => {
      looks += 1;
      if (looks === 1) await proof.promise;
      if (looks === 1) return { kind: 'unverified', because: 'no step' };
      return { kind: 'verified', progress: { step: beyond + 1, at: new Date().toISOString() }, because: 'it moves' };
    };
    let open = () => {};
    story.cluster.gate = new Promise((resolve) => (open = resolve));
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    await recovering(story, handle, 'restarting');
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault({ id: 'kernel/other/1', node: 'gpu-7' }))] });
    await eventually(
      async () => (await story.rig.client.workflow.getHandle((await story.status(handle)).incident ?? '').query<RecoveryStatus>('status')).faults.length,
      (faults) => faults === 2,
    );
    open();
    proof.resolve();
    await ends(story, handle, 'recovered');
    expect(story.cluster.records.map(({ stops }) => stops.map(({ by }) => by))).toEqual([['pods', 'suspend']]);
    await story.ended(handle);
  });

  it('a question that is asked may be answered while its recovery is held', async () => {
    set({ approval: { dead: 0, within: '2m', otherwise: 'approve' } });
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [crash(story)] });
    const recovery = await recovering(story, handle, 'waiting for approval');
    await handle.executeUpdate('pause', { args: [ada] });
    await recovering(story, handle, 'held');
    expect(await recovery.executeUpdate('deny', { args: [ada] })).toMatchObject({ approved: false });
    await handle.executeUpdate('resume', { args: [ada] });
    expect(await ends(story, handle, 'refused')).toContain('denied by ada');
    expect(story.cluster.stopped).toEqual([]);
    await story.ended(handle);
  });

  it('mode observe tells the whole plan and does nothing', async () => {
    story.cluster.settings = settings({ recovery: quick });
    trains(story);
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(degrading())] });
    await ends(story, handle, 'refused');
    const [record] = story.cluster.records;
    expect(record?.timeline.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['would await a checkpoint (fresh)', 'would look for room', 'would restart the job']),
    );
    expect([story.cluster.stopped, story.cluster.captured]).toEqual([[], []]);
    await story.ended(handle);
  });
});
