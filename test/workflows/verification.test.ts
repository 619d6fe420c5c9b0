import { describe, expect, it } from '@jest/globals';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { type JobRig, useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

const training = (story: JobRig, step: number, at = new Date().toISOString()) => {
  if (story.cluster.view) story.cluster.view = { ...story.cluster.view, progress: { step, checkpointStep: step - 100, at } };
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

  it('ends as restarted when a new fault comes before the proof, which is an incident of its own', async () => {
    training(story, 1200);
    let asked = 0;
    const never = Promise.withResolvers<never>();
    story.cluster.verified = (beyond) => {
      asked += 1;
      if (asked === 1) return never.promise;
      return { kind: 'verified', progress: { step: beyond + 5, at: '2026-11-21T08:00:00Z' }, because: 'step 1205 is done' };
    };
    story.cluster.settings = settings({ mode: 'act', recovery: { correlation: '0s', budget: { backoff: { first: '1ms', most: '1ms' } } } });
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await eventually(
      () => asked,
      (times) => times === 1,
    );
    const [pod] = story.cluster.pods;
    const createdAt = new Date(Date.now() + 60_000).toISOString();
    await handle.signal('faultsObserved', {
      faults: [podFault({ id: 'pod/new', seenAt: createdAt, pod: { name: pod?.name ?? '', uid: pod?.uid ?? '', createdAt } })],
    });
    await last(story, handle, 'recovered');
    expect(story.cluster.records.map(({ outcome }) => outcome)).toEqual(['restarted', 'recovered']);
    expect(story.cluster.stopped).toHaveLength(2);
    expect(story.cluster.captured).toEqual([1, 1]);
    // Its activity was cancelled; the worker can end only when it does.
    never.reject(new Error('over'));
    await story.ended(handle);
  });

  it('is restarted, not handed over, when training moves and needs longer to get back', async () => {
    training(story, 1200);
    story.cluster.verified = () => ({ kind: 'unverified', moves: true, because: 'step 1150 of 1200 after 1h' });
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(story, handle, 'restarted');
    expect(ended?.because).toContain('training moves, and is not back yet');
    await story.ended(handle);
  });

  it('waits for no proof of a job that had stopped telling', async () => {
    training(story, 1200, '2026-11-20T07:00:00Z');
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(story, handle, 'restarted');
    expect(ended?.because).toContain('its progress was last told at');
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
    expect(story.cluster.records[0]?.timeline.map(({ what, because }) => `${what}: ${because}`)).toContain('evidence kept: none: it could not be kept');
    await story.ended(handle);
  });
});
