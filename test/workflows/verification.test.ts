import { describe, expect, it } from '@jest/globals';
import { kernelFault, podFault } from '../support/builders.ts';
import { type JobRig, useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

const training = (story: JobRig, step: number) => {
  if (story.cluster.view) story.cluster.view = { ...story.cluster.view, progress: { step, checkpointStep: step - 100, at: '2026-11-21T07:00:00Z' } };
};

const last = (story: JobRig, handle: Parameters<JobRig['status']>[0], outcome: string) =>
  eventually(
    () => story.status(handle),
    (seen) => seen.last?.outcome === outcome && seen.phase === 'watching',
  );

describe('a recovery that looks whether training moves on', () => {
  const story = useJobRig();

  it('is recovered only when training has passed the last step before the fault', async () => {
    training(story, 1200);
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await last(story, handle, 'recovered');
    expect(story.cluster.records).toMatchObject([{ outcome: 'recovered', progress: { before: { step: 1200 }, after: { step: 1201 } } }]);
    await eventually(
      () => story.cluster.reasons(),
      (reasons) => reasons.includes('JobRecovered'),
    );
    await story.ended(handle);
  });

  it('is handed to a person when training stands still, and never called recovered', async () => {
    training(story, 1200);
    story.cluster.verified = () => ({ kind: 'unverified', because: 'step 1100 of 1200, and none since 10m' });
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(story, handle, 'handed over');
    expect(ended?.because).toContain('training does not move on: step 1100 of 1200');
    expect(story.cluster.stopped).toHaveLength(1);
    await story.ended(handle);
  });

  it('says that a job without progress reports is restarted and not verified', async () => {
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(story, handle, 'restarted');
    expect(ended?.because).toContain('not verified');
    await story.ended(handle);
  });

  it('goes back to the stop for a fault that comes while it waits for proof', async () => {
    training(story, 1200);
    let asked = 0;
    const never = Promise.withResolvers<never>();
    story.cluster.verified = (beyond) => {
      asked += 1;
      if (asked === 1) return never.promise;
      return { kind: 'verified', progress: { step: beyond + 5, at: '2026-11-21T08:00:00Z' }, because: 'step 1205 is done' };
    };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await eventually(
      () => asked,
      (times) => times === 1,
    );
    const [pod] = story.cluster.pods;
    await handle.signal('faultsObserved', {
      faults: [podFault({ id: 'pod/new', pod: { name: pod?.name ?? '', uid: pod?.uid ?? '', createdAt: new Date().toISOString() } })],
    });
    await last(story, handle, 'recovered');
    expect(story.cluster.stopped).toHaveLength(2);
    expect(story.cluster.captured).toEqual([1, 2]);
    // Its activity was cancelled; the worker can end only when it does.
    never.reject(new Error('over'));
    await story.ended(handle);
  });
});

describe('a recovery that keeps evidence', () => {
  const story = useJobRig();

  it('keeps it before the stop, once for each attempt, and names it in the record', async () => {
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await last(story, handle, 'restarted');
    expect(story.cluster.captured).toEqual([1]);
    expect(story.cluster.records).toMatchObject([{ evidence: [{ attempt: 1, address: 'evidence/1', ranks: 4, of: 4 }] }]);
    await story.ended(handle);
  });

  it('stops all the same when the store cannot be written', async () => {
    story.cluster.storeFails = true;
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await last(story, handle, 'restarted');
    expect(story.cluster.stopped).toHaveLength(1);
    expect(story.cluster.records[0]?.timeline.map(({ what, because }) => `${what}: ${because}`)).toContain('evidence kept: none: the store failed');
    await story.ended(handle);
  });
});
