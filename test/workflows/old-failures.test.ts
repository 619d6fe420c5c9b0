import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults.ts';
import { podFault, settings } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

const minute = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** Of a pod that is no part of the attempt any more: kinds such as the batch Job keep those that ended. */
const failed = (name: string, seenAt: string): Fault =>
  podFault({ id: `pod/${name}`, message: `${name} failed`, node: 'gpu-7', seenAt, pod: { name, uid: name, createdAt: '2026-11-21T06:00:00Z' } });

describe('a failure that is told late', () => {
  const story = useJobRig();

  it('stops no later attempt: a rank that died while its attempt was stopped is answered by that stop', async () => {
    let open = () => {};
    story.cluster.gate = new Promise((resolve) => (open = resolve));
    const late = failed('llm-2', ago(10));
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [failed('llm-1', ago(20))] });
    await eventually(
      () => story.cluster.resumes,
      (resumes) => resumes === 1,
    );
    await handle.signal('faultsObserved', { faults: [late] });
    await eventually(
      () => story.cluster.looks,
      (looks) => looks > 1,
    );
    open();
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted' && seen.phase === 'watching',
    );
    expect(story.cluster.stopped).toHaveLength(1);
    expect(story.cluster.records).toMatchObject([{ faults: [{ id: 'pod/llm-1' }, { id: 'pod/llm-2' }], decisions: [{ kind: 'stop' }, { kind: 'go-on' }] }]);
    await story.ended(handle);
  });

  it('stops nothing that was made anew while it waited', async () => {
    story.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms' } });
    const handle = await story.start();
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'profiling' }] });
    await handle.signal('faultsObserved', { faults: [failed('llm-1', ago(6000))] });
    await eventually(
      () => story.status(handle),
      (seen) => seen.phase === 'paused' && seen.because.includes('waiting'),
    );
    story.cluster.place();
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'done' }] });
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'cancelled',
    );
    expect((await story.status(handle)).last?.because).toContain('all pods of the job were created after llm-1 failed');
    expect(story.cluster.stopped).toEqual([]);
    await story.ended(handle);
  });

  it('opens no incident where training has moved on since, which is looked at', async () => {
    if (story.cluster.view) story.cluster.view = { ...story.cluster.view, progress: { step: 5000, at: ago(0) } };
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [failed('llm-1', ago(7 * minute))] });
    await eventually(
      () => story.cluster.asides,
      (asides) => asides.some(({ because }) => because.includes('training has moved on since llm-1 failed')),
    );
    expect(story.cluster.stopped).toEqual([]);
    await story.ended(handle);
    expect(story.cluster.records).toEqual([]);
  });

  it('is history where it was there long before the first run, and people hear of it once', async () => {
    story.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms' } });
    if (story.cluster.view) story.cluster.view = { ...story.cluster.view, optedInAt: ago(7 * 24 * 60 * minute) };
    const handle = await story.start();
    for (const name of ['llm-1', 'llm-2']) {
      await handle.signal('faultsObserved', { faults: [failed(name, ago(3 * 24 * 60 * minute))] });
      await eventually(
        () => story.cluster.asides.length,
        (asides) => asides >= (name === 'llm-1' ? 1 : 2),
      );
    }
    const told = await eventually(
      () => story.cluster.announced.filter(({ reason }) => reason === 'TakenForHistory'),
      (events) => events.length > 0,
    );
    expect(new Set(told.map(({ key }) => key)).size).toBe(1);
    expect(told[0]?.message).toContain('kcover recover pytorchjob/llm');
    // What fails now is no history.
    await handle.signal('faultsObserved', { faults: [failed('llm-3', ago(0))] });
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(story.cluster.stopped).toHaveLength(1);
    await story.ended(handle);
  });
});
