import { describe, expect, it } from '@jest/globals';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('budget categories of recoveries', () => {
  const jobRig = useJobRig();

  const crash = (times: number) => {
    const [pod] = jobRig.cluster.pods;
    const createdAt = new Date(Date.now() + 60_000).toISOString();
    return podFault({
      id: `pod/crash-${times}`,
      seenAt: createdAt,
      pod: { name: pod?.name ?? '', uid: pod?.uid ?? '', createdAt },
    });
  };

  it('counts the fault of a node against the hardware and not against the user', async () => {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const seen = await eventually(
      () => jobRig.status(handle),
      ({ last, phase }) => last?.outcome === 'restarted' && phase === 'watching',
    );
    expect(seen.usageByCategory).toEqual({ hardware: 1 });
    await jobRig.ended(handle);
  });

  it('stops a job that crashes three times without a new checkpoint, and still recovers it from a fault of its node', async () => {
    jobRig.cluster.settings = settings({
      mode: 'act',
      recovery: { correlation: '0s', budget: { backoff: { first: '1ms', most: '1ms' } } },
    });
    if (jobRig.cluster.view)
      jobRig.cluster.view = {
        ...jobRig.cluster.view,
        progress: { step: 1200, checkpointStep: 1100, at: '2026-11-21T07:00:00Z' },
      };
    const handle = await jobRig.start();
    for (const times of [1, 2, 3]) {
      await handle.signal('faultsObserved', { faults: [crash(times)] });
      await eventually(
        () => jobRig.status(handle),
        ({ usageByCategory, phase }) => usageByCategory?.user === times && phase === 'watching',
      );
    }
    await handle.signal('faultsObserved', { faults: [crash(4)] });
    const refused = await eventually(
      () => jobRig.status(handle),
      ({ phase }) => phase === 'refused',
    );
    expect(refused.because).toContain('checkpoint');
    expect(jobRig.cluster.stopped).toHaveLength(3);
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.status(handle),
      ({ usageByCategory }) => usageByCategory?.hardware === 1,
    );
    await jobRig.ended(handle);
  });
});
