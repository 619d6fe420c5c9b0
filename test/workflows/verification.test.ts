import { describe, expect, it } from '@jest/globals';
import { eventReasons } from '../../contract/ids.ts';
import type { VerifyResult } from '../../contract/recovery/verification.ts';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { type JobRig, useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

const training = (jobRig: JobRig, step: number, at = new Date().toISOString()) => {
  if (jobRig.cluster.view)
    jobRig.cluster.view = { ...jobRig.cluster.view, progress: { step, checkpointStep: step - 100, at } };
};

const last = (jobRig: JobRig, handle: Parameters<JobRig['status']>[0], outcome: string) =>
  eventually(
    () => jobRig.status(handle),
    (seen) => seen.last?.outcome === outcome && seen.phase === 'watching',
  );

describe('a recovery that looks whether training moves on', () => {
  const jobRig = useJobRig();

  it('is recovered only when training has passed the last step before the fault', async () => {
    training(jobRig, 1200);
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await last(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records).toMatchObject([
      { outcome: 'recovered', progress: { before: { step: 1200 }, after: { step: 1201 } } },
    ]);
    await eventually(
      () => jobRig.cluster.reasons(),
      (reasons) => reasons.includes('JobRecovered'),
    );
    await jobRig.ended(handle);
  });

  it('is escalated when training makes no progress, and never called recovered', async () => {
    training(jobRig, 1200);
    jobRig.cluster.verified = () => ({ kind: 'unverified', because: 'step 1100 of 1200, and none since 10m' });
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(jobRig, handle, 'escalated');
    expect(ended?.because).toContain('training does not move on: step 1100 of 1200');
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('says that a job without progress reports is restarted and not verified', async () => {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(jobRig, handle, 'restarted');
    expect(ended?.because).toContain('not verified');
    await jobRig.ended(handle);
  });

  it('goes on to the proof when training is reported as slow before it, and the Event about that follows', async () => {
    training(jobRig, 1200);
    const proof = Promise.withResolvers<VerifyResult>();
    const looking = Promise.withResolvers<void>();
    jobRig.cluster.verified = () => {
      looking.resolve();
      return proof.promise;
    };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await looking.promise;
    const { incident = '' } = await jobRig.status(handle);
    const job = jobRig.cluster.view?.ref.uid ?? '';
    const at = new Date().toISOString();
    const slow = { id: 'slow/1', source: 'progress', code: 'progress/slow', message: 'it is slow', seenAt: at, job };
    await handle.signal('faultsObserved', { faults: [slow] });
    // A query is answered after the signal, and each of them after what the job has sent.
    for (let look = 0; look < 5; look++) {
      await jobRig.status(handle);
      await jobRig.rig.client.workflow.getHandle(incident).query('status');
    }
    proof.resolve({ kind: 'verified', progress: { step: 1201, at }, because: 'step 1201 is done' });
    await last(jobRig, handle, 'recovered');
    await eventually(
      () => jobRig.cluster.reasons(),
      (reasons) => reasons.includes('TrainingSlow'),
    );
    await jobRig.ended(handle);
  });

  it('ends as restarted when a new fault comes before the proof, which is an incident of its own', async () => {
    training(jobRig, 1200);
    let asked = 0;
    const never = Promise.withResolvers<never>();
    jobRig.cluster.verified = (beyond) => {
      asked += 1;
      if (asked === 1) return never.promise;
      return {
        kind: 'verified',
        progress: { step: beyond + 5, at: '2026-11-21T08:00:00Z' },
        because: 'step 1205 is done',
      };
    };
    jobRig.cluster.settings = settings({
      mode: 'act',
      recovery: { correlation: '0s', budget: { backoff: { first: '1ms', most: '1ms' } } },
    });
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => asked,
      (times) => times === 1,
    );
    const [pod] = jobRig.cluster.pods;
    const createdAt = new Date(Date.now() + 60_000).toISOString();
    await handle.signal('faultsObserved', {
      faults: [
        podFault({ id: 'pod/new', seenAt: createdAt, pod: { name: pod?.name ?? '', uid: pod?.uid ?? '', createdAt } }),
      ],
    });
    await last(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records.map(({ outcome }) => outcome)).toEqual(['restarted', 'recovered']);
    expect(jobRig.cluster.stopped).toHaveLength(2);
    expect(jobRig.cluster.captured).toEqual([1, 1]);
    // Its activity was cancelled; the worker can end only when the activity does.
    never.reject(new Error('over'));
    await jobRig.ended(handle);
  });

  it('is restarted, not escalated, when training moves and needs longer to catch up', async () => {
    training(jobRig, 1200);
    jobRig.cluster.verified = () => ({ kind: 'unverified', moves: true, because: 'step 1150 of 1200 after 1h' });
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(jobRig, handle, 'restarted');
    expect(ended?.because).toContain('training moves, but has not caught up yet');
    await jobRig.ended(handle);
  });

  it('waits for no proof of a job that had stopped reporting', async () => {
    training(jobRig, 1200, '2026-11-20T07:00:00Z');
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const { last: ended } = await last(jobRig, handle, 'restarted');
    expect(ended?.because).toContain('its progress was last reported at');
    await jobRig.ended(handle);
  });
});

describe('a recovery that keeps evidence', () => {
  const jobRig = useJobRig();

  it('keeps it before the stop, once for each attempt, and names it in the record', async () => {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await last(jobRig, handle, 'restarted');
    expect(jobRig.cluster.captured).toEqual([1]);
    expect(jobRig.cluster.records).toMatchObject([
      { evidence: [{ attempt: 1, address: 'evidence/1', ranks: 4, of: 4 }] },
    ]);
    await jobRig.ended(handle);
  });

  it('names the ranks that its logs make suspects, in record and Event, and quarantines no node for that', async () => {
    jobRig.cluster.suspects = [{ pod: 'llm-2', node: 'gpu-2', rank: 2, because: 'rank 2 is behind' }];
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await last(jobRig, handle, 'restarted');
    const [record] = jobRig.cluster.records;
    expect(record?.evidence).toMatchObject([{ suspects: [{ pod: 'llm-2', node: 'gpu-2' }] }]);
    expect(record?.timeline).toContainEqual(
      expect.objectContaining({ what: 'ranks suspected', because: 'llm-2 on gpu-2: rank 2 is behind' }),
    );
    expect(jobRig.cluster.announced.filter(({ reason }) => reason === eventReasons.ranksSuspected)).toMatchObject([
      { type: 'Warning', message: expect.stringContaining('llm-2 on gpu-2: rank 2 is behind') },
    ]);
    expect(record?.faults.map(({ node }) => node)).not.toContain('gpu-2');
    await jobRig.ended(handle);
  });

  it('stops anyway when the evidence store cannot be written', async () => {
    jobRig.cluster.storeFails = true;
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await last(jobRig, handle, 'restarted');
    expect(jobRig.cluster.stopped).toHaveLength(1);
    expect(jobRig.cluster.records[0]?.timeline.map(({ what, because }) => `${what}: ${because}`)).toContain(
      'evidence kept: none: it could not be kept',
    );
    await jobRig.ended(handle);
  });
});
