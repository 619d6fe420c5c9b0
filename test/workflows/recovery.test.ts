import { describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { jobView, kernelFault } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('the workflow of a recovery', () => {
  const jobRig = useJobRig();

  /** A job whose first attempt was stopped for a bad node, and the incident that is open about it. */
  async function stopped(): Promise<{ handle: WorkflowHandle; incident: string }> {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const { incident = '' } = await eventually(
      () => jobRig.status(handle),
      (seen) => seen.incident !== undefined && jobRig.cluster.stopped.length === 1,
    );
    return { handle, incident };
  }

  it('stops once more, in the same incident, when a node of the new attempt fails before it is ready', async () => {
    let open = () => {};
    jobRig.cluster.gate = new Promise((resolve) => (open = resolve));
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(() => jobRig.cluster.pods.some((pod) => pod.node === 'gpu-4'), Boolean);
    await handle.signal('faultsObserved', {
      faults: [jobRig.cluster.quarantined(kernelFault({ id: 'kernel/boot-2/7', node: 'gpu-4' }))],
    });
    await eventually(
      () => jobRig.cluster.stopped.length,
      (stops) => stops === 2,
    );
    open();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(new Set(jobRig.cluster.stopped.flatMap((stop) => stop.uids)).size).toBe(8);
    expect(jobRig.cluster.records).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('does not miss a fault that arrives while it looks', async () => {
    const handle = await jobRig.start();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching',
    );
    let looked = false;
    jobRig.cluster.beforeLook = async () => {
      if (looked) return;
      looked = true;
      const { incident = '' } = await jobRig.status(handle);
      const late = kernelFault({
        id: 'kernel/boot-1/200',
        node: 'gpu-1',
        quarantine: { state: 'held', because: 'the limit' },
      });
      await jobRig.rig.client.workflow.getHandle(incident).signal('faultsObserved', { faults: [late] });
    };
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.cluster.reasons(),
      (reasons) => reasons.includes('RecoveryHeld'),
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    await handle.signal('faultsObserved', {
      faults: [jobRig.cluster.quarantined(kernelFault({ id: 'kernel/boot-1/200', node: 'gpu-1' }))],
    });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    expect(jobRig.cluster.pods.map((pod) => pod.node)).not.toContain('gpu-1');
    await jobRig.ended(handle);
  });

  it('resumes a job whose recovery was terminated in the middle of a stop', async () => {
    let open = () => {};
    jobRig.cluster.gate = new Promise((resolve) => (open = resolve));
    const { handle, incident } = await stopped();
    await jobRig.rig.client.workflow.getHandle(incident).terminate();
    jobRig.cluster.closed = {
      incident,
      outcome: 'failed',
      because: 'the recovery was terminated before it could report',
      stops: 0,
      faults: [],
    };
    const before = jobRig.cluster.resumes;
    await handle.signal('jobObserved', { change: 'opted-in' });
    expect(
      await eventually(
        () => jobRig.status(handle),
        (seen) => seen.last?.outcome === 'failed',
      ),
    ).toMatchObject({ recoveriesThisHour: 1 });
    expect(jobRig.cluster.resumes).toBeGreaterThan(before);
    open();
    await jobRig.ended(handle);
  });

  it('finishes a stop and resumes the job when it is opted out meanwhile, and does nothing else', async () => {
    const handle = await jobRig.start();
    let optingOut: Promise<void> | undefined;
    jobRig.cluster.stopping = () =>
      (optingOut ??= (async () => {
        jobRig.cluster.view = { ...jobView({ ref: jobRig.cluster.job }), optedIn: false };
        await handle.signal('jobObserved', { change: 'opted-out' });
      })());
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    expect(await handle.result()).toMatchObject({ outcome: 'opted-out' });
    expect(jobRig.cluster.records).toMatchObject([
      { outcome: 'cancelled', because: 'the job was opted out', stops: [{ attempt: 1 }] },
    ]);
    expect(jobRig.cluster.stopped).toHaveLength(1);
    expect(jobRig.cluster.resumes).toBe(1);
    expect(jobRig.cluster.resized).toEqual([]);
  });

  it('looks anew when a stop could not be sent, says why, and sends none after a pause', async () => {
    jobRig.cluster.unsendable = 'decided 31s ago and could not be sent: 403';
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    const notSent = await eventually(
      () => jobRig.cluster.announced.find(({ reason }) => reason === 'StopNotSent'),
      (event) => event !== undefined,
    );
    expect(notSent).toMatchObject({ type: 'Warning', message: expect.stringContaining('could not be sent: 403') });
    jobRig.cluster.paused = { by: 'ada', reason: 'the webhook is broken' };
    jobRig.cluster.unsendable = undefined;
    await eventually(jobRig.cluster.reasons, (reasons) => reasons.includes('RecoveryHeld'));
    expect(jobRig.cluster.stopped).toEqual([]);
    jobRig.cluster.paused = undefined;
    const { incident = '' } = await jobRig.status(handle);
    await jobRig.rig.client.workflow.getHandle(incident).signal('recheck');
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('notifies people when a job that it has suspended is not resumed for long, and goes on trying', async () => {
    const allowed = Promise.withResolvers<void>();
    jobRig.cluster.resumable = allowed.promise;
    const { handle } = await stopped();
    const event = await eventually(
      () => jobRig.cluster.announced.find(({ reason }) => reason === 'ResumeDelayed'),
      (event) => event !== undefined,
    );
    expect(event).toMatchObject({ type: 'Warning', message: expect.stringContaining('is still suspended by kcover') });
    allowed.resolve();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    await jobRig.ended(handle);
  });

  it('holds while the node is not quarantined, and goes on when it is', async () => {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', {
      faults: [kernelFault({ quarantine: { state: 'held', because: '2 nodes are out and 2 may be' } })],
    });
    const incident =
      (
        await eventually(
          () => jobRig.status(handle),
          (seen) => seen.incident !== undefined,
        )
      ).incident ?? '';
    await eventually(
      () => jobRig.rig.client.workflow.getHandle(incident).query<{ phase: string }>('status'),
      (seen) => seen.phase === 'held',
    );
    expect(jobRig.cluster.stopped).toEqual([]);
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    jobRig.rig.replayAtEnd(incident);
    await jobRig.ended(handle);
  });

  it('removes its own suspend when the recovery is cancelled in the middle of a stop', async () => {
    let open = () => {};
    jobRig.cluster.gate = new Promise((resolve) => (open = resolve));
    const { handle, incident } = await stopped();
    await jobRig.rig.client.workflow.getHandle(incident).cancel();
    expect(await jobRig.rig.client.workflow.getHandle(incident).result()).toMatchObject({ outcome: 'cancelled' });
    open();
    // Resumed once or twice, depending on when the cancellation came: twice is harmless.
    expect(jobRig.cluster.resumes).toBeGreaterThanOrEqual(1);
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'cancelled',
    );
    await jobRig.ended(handle);
  });

  it('ends when it is cancelled while an Event is still being written', async () => {
    const [open, events] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    jobRig.cluster.gate = open.promise;
    jobRig.cluster.eventsGate = events.promise;
    const { handle, incident } = await stopped();
    await jobRig.rig.client.workflow.getHandle(incident).cancel();
    setTimeout(events.resolve, 500);
    expect(await jobRig.rig.client.workflow.getHandle(incident).result()).toMatchObject({ outcome: 'cancelled' });
    open.resolve();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'cancelled',
    );
    await jobRig.ended(handle);
  });
});
