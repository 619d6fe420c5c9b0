import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults/faults.ts';
import { podFault, settings } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

const minute = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** Of a pod that no longer belongs to the attempt: kinds such as the batch Job keep pods that ended. */
const failed = (name: string, seenAt: string): Fault =>
  podFault({
    id: `pod/${name}`,
    message: `${name} failed`,
    node: 'gpu-7',
    seenAt,
    pod: { name, uid: name, createdAt: '2026-11-21T06:00:00Z' },
  });

describe('a failure that is reported late', () => {
  const jobRig = useJobRig();

  it('stops no later attempt: a rank that died while its attempt was stopped is handled by that stop', async () => {
    let open = () => {};
    jobRig.cluster.gate = new Promise((resolve) => (open = resolve));
    const late = failed('llm-2', ago(10));
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [failed('llm-1', ago(20))] });
    await eventually(
      () => jobRig.cluster.resumes,
      (resumes) => resumes === 1,
    );
    await handle.signal('faultsObserved', { faults: [late] });
    await eventually(
      () => jobRig.cluster.looks,
      (looks) => looks > 1,
    );
    open();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted' && seen.phase === 'watching',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    expect(jobRig.cluster.records).toMatchObject([
      { faults: [{ id: 'pod/llm-1' }, { id: 'pod/llm-2' }], decisions: [{ kind: 'stop' }, { kind: 'go-on' }] },
    ]);
    await jobRig.ended(handle);
  });

  it('stops no pods that were created while it waited', async () => {
    jobRig.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms' } });
    const handle = await jobRig.start();
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'profiling' }] });
    await handle.signal('faultsObserved', { faults: [failed('llm-1', ago(6000))] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'paused' && seen.because.includes('waiting'),
    );
    jobRig.cluster.place();
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'done' }] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'cancelled',
    );
    expect((await jobRig.status(handle)).last?.because).toContain(
      'all pods of the job were created after llm-1 failed',
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    await jobRig.ended(handle);
  });

  it('opens no incident where training has moved on since, which is looked at', async () => {
    if (jobRig.cluster.view) jobRig.cluster.view = { ...jobRig.cluster.view, progress: { step: 5000, at: ago(0) } };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [failed('llm-1', ago(7 * minute))] });
    await eventually(
      () => jobRig.cluster.dismissals,
      (dismissals) => dismissals.some(({ because }) => because.includes('training has moved on since llm-1 failed')),
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    await jobRig.ended(handle);
    expect(jobRig.cluster.records).toEqual([]);
  });

  it('is ignored where it is much older than the first run, and people are notified once', async () => {
    jobRig.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms' } });
    if (jobRig.cluster.view) jobRig.cluster.view = { ...jobRig.cluster.view, optedInAt: ago(7 * 24 * 60 * minute) };
    const handle = await jobRig.start();
    for (const name of ['llm-1', 'llm-2']) {
      await handle.signal('faultsObserved', { faults: [failed(name, ago(3 * 24 * 60 * minute))] });
      await eventually(
        () => jobRig.cluster.dismissals.length,
        (dismissals) => dismissals >= (name === 'llm-1' ? 1 : 2),
      );
    }
    const events = await eventually(
      () => jobRig.cluster.announced.filter(({ reason }) => reason === 'FailureBeforeOptIn'),
      (events) => events.length > 0,
    );
    expect(new Set(events.map(({ key }) => key)).size).toBe(1);
    expect(events[0]?.message).toContain('kcover recover pytorchjob/llm');
    // A failure that happens now is not ignored.
    await handle.signal('faultsObserved', { faults: [failed('llm-3', ago(0))] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });
});
