import { describe, expect, it } from '@jest/globals';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('what recoveries are charged to', () => {
  const story = useJobRig();

  const crash = (times: number) => {
    const [pod] = story.cluster.pods;
    const createdAt = new Date(Date.now() + 60_000).toISOString();
    return podFault({ id: `pod/crash-${times}`, seenAt: createdAt, pod: { name: pod?.name ?? '', uid: pod?.uid ?? '', createdAt } });
  };

  it('charges the fault of a node to the hardware and not to the user', async () => {
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const seen = await eventually(
      () => story.status(handle),
      ({ last, phase }) => last?.outcome === 'restarted' && phase === 'watching',
    );
    expect(seen.ledgers).toEqual({ hardware: 1 });
    await story.ended(handle);
  });

  it('stops a job that crashes three times without a new checkpoint, and still recovers it from a fault of its node', async () => {
    story.cluster.settings = settings({ mode: 'act', recovery: { correlation: '0s', budget: { backoff: { first: '1ms', most: '1ms' } } } });
    if (story.cluster.view) story.cluster.view = { ...story.cluster.view, progress: { step: 1200, checkpointStep: 1100, at: '2026-11-21T07:00:00Z' } };
    const handle = await story.start();
    for (const times of [1, 2, 3]) {
      await handle.signal('faultsObserved', { faults: [crash(times)] });
      await eventually(
        () => story.status(handle),
        ({ ledgers, phase }) => ledgers?.user === times && phase === 'watching',
      );
    }
    await handle.signal('faultsObserved', { faults: [crash(4)] });
    const refused = await eventually(
      () => story.status(handle),
      ({ phase }) => phase === 'refused',
    );
    expect(refused.because).toContain('checkpoint');
    expect(story.cluster.stopped).toHaveLength(3);
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await eventually(
      () => story.status(handle),
      ({ ledgers }) => ledgers?.hardware === 1,
    );
    await story.ended(handle);
  });
});
