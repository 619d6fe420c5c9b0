import { describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { jobView, kernelFault } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('the workflow of a recovery', () => {
  const story = useJobRig();

  /** A job whose first attempt was stopped for a bad node, and the incident that is open about it. */
  async function stopped(): Promise<{ handle: WorkflowHandle; incident: string }> {
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const { incident = '' } = await eventually(
      () => story.status(handle),
      (seen) => seen.incident !== undefined && story.cluster.stopped.length === 1,
    );
    return { handle, incident };
  }

  it('stops once more, in the same incident, when a node of the new attempt fails before it is ready', async () => {
    let open = () => {};
    story.cluster.gate = new Promise((resolve) => (open = resolve));
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await eventually(() => story.cluster.pods.some((pod) => pod.node === 'gpu-4'), Boolean);
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault({ id: 'kernel/boot-2/7', node: 'gpu-4' }))] });
    await eventually(
      () => story.cluster.stopped.length,
      (stops) => stops === 2,
    );
    open();
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(new Set(story.cluster.stopped.flatMap((stop) => stop.uids)).size).toBe(8);
    expect(story.cluster.records).toHaveLength(1);
    await story.ended(handle);
  });

  it('does not let a fault slip past that arrives while it looks', async () => {
    const handle = await story.start();
    await eventually(
      () => story.status(handle),
      (seen) => seen.phase === 'watching',
    );
    let looked = false;
    story.cluster.beforeLook = async () => {
      if (looked) return;
      looked = true;
      const { incident = '' } = await story.status(handle);
      const late = kernelFault({ id: 'kernel/boot-1/200', node: 'gpu-1', hold: { state: 'held', because: 'the limit' } });
      await story.rig.client.workflow.getHandle(incident).signal('faultsObserved', { faults: [late] });
    };
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await eventually(
      () => story.cluster.reasons(),
      (reasons) => reasons.includes('RecoveryHeld'),
    );
    expect(story.cluster.stopped).toEqual([]);
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault({ id: 'kernel/boot-1/200', node: 'gpu-1' }))] });
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(story.cluster.stopped).toHaveLength(1);
    expect(story.cluster.pods.map((pod) => pod.node)).not.toContain('gpu-1');
    await story.ended(handle);
  });

  it('resumes a job whose recovery was terminated in the middle of a stop', async () => {
    let open = () => {};
    story.cluster.gate = new Promise((resolve) => (open = resolve));
    const { handle, incident } = await stopped();
    await story.rig.client.workflow.getHandle(incident).terminate();
    story.cluster.closed = { incident, outcome: 'failed', because: 'the recovery was terminated before it could report', stops: 0, faults: [] };
    const before = story.cluster.resumes;
    await handle.signal('jobObserved', { change: 'opted-in' });
    expect(
      await eventually(
        () => story.status(handle),
        (seen) => seen.last?.outcome === 'failed',
      ),
    ).toMatchObject({ spentThisHour: 1 });
    expect(story.cluster.resumes).toBeGreaterThan(before);
    open();
    await story.ended(handle);
  });

  it('brings a stop to its end and resumes the job when it is opted out meanwhile, and does nothing else', async () => {
    const handle = await story.start();
    let optingOut: Promise<void> | undefined;
    story.cluster.stopping = () =>
      (optingOut ??= (async () => {
        story.cluster.view = { ...jobView({ ref: story.cluster.job }), optedIn: false };
        await handle.signal('jobObserved', { change: 'opted-out' });
      })());
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    expect(await handle.result()).toMatchObject({ outcome: 'opted-out' });
    expect(story.cluster.records).toMatchObject([{ outcome: 'cancelled', because: 'the job was opted out', stops: [{ attempt: 1 }] }]);
    expect(story.cluster.stopped).toHaveLength(1);
    expect(story.cluster.resumes).toBe(1);
    expect(story.cluster.reshaped).toEqual([]);
  });

  it('looks anew when a stop could not be sent, says why, and sends none after a pause', async () => {
    story.cluster.unsendable = 'decided 31s ago and could not be sent: 403';
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    const notSent = await eventually(
      () => story.cluster.announced.find(({ reason }) => reason === 'StopNotSent'),
      (event) => event !== undefined,
    );
    expect(notSent).toMatchObject({ type: 'Warning', message: expect.stringContaining('could not be sent: 403') });
    story.cluster.paused = { by: 'ada', reason: 'the webhook is broken' };
    story.cluster.unsendable = undefined;
    await eventually(story.cluster.reasons, (reasons) => reasons.includes('RecoveryHeld'));
    expect(story.cluster.stopped).toEqual([]);
    story.cluster.paused = undefined;
    const { incident = '' } = await story.status(handle);
    await story.rig.client.workflow.getHandle(incident).signal('permissionChanged');
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(story.cluster.stopped).toHaveLength(1);
    await story.ended(handle);
  });

  it('tells people when a job that it has suspended is not resumed for long, and goes on trying', async () => {
    const allowed = Promise.withResolvers<void>();
    story.cluster.resumable = allowed.promise;
    const { handle } = await stopped();
    const told = await eventually(
      () => story.cluster.announced.find(({ reason }) => reason === 'ResumeDelayed'),
      (event) => event !== undefined,
    );
    expect(told).toMatchObject({ type: 'Warning', message: expect.stringContaining('is still suspended by kcover') });
    allowed.resolve();
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    await story.ended(handle);
  });

  it('holds while the node is not quarantined, and goes on when it is', async () => {
    const handle = await story.start();
    await handle.signal('faultsObserved', { faults: [kernelFault({ hold: { state: 'held', because: '2 nodes are out and 2 may be' } })] });
    const incident =
      (
        await eventually(
          () => story.status(handle),
          (seen) => seen.incident !== undefined,
        )
      ).incident ?? '';
    await eventually(
      () => story.rig.client.workflow.getHandle(incident).query<{ phase: string }>('status'),
      (seen) => seen.phase === 'held',
    );
    expect(story.cluster.stopped).toEqual([]);
    await handle.signal('faultsObserved', { faults: [story.cluster.quarantined(kernelFault())] });
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    await story.rig.replay(incident);
    await story.ended(handle);
  });

  it('takes off its own suspend when the recovery is cancelled in the middle of a stop', async () => {
    let open = () => {};
    story.cluster.gate = new Promise((resolve) => (open = resolve));
    const { handle, incident } = await stopped();
    await story.rig.client.workflow.getHandle(incident).cancel();
    expect(await story.rig.client.workflow.getHandle(incident).result()).toMatchObject({ outcome: 'cancelled' });
    open();
    // Asked for once or twice, as the cancellation came before or after the first: taking it off twice is harmless.
    expect(story.cluster.resumes).toBeGreaterThanOrEqual(1);
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'cancelled',
    );
    await story.ended(handle);
  });

  it('ends when it is cancelled while an Event is still being written', async () => {
    const [open, hear] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    story.cluster.gate = open.promise;
    story.cluster.deaf = hear.promise;
    const { handle, incident } = await stopped();
    await story.rig.client.workflow.getHandle(incident).cancel();
    setTimeout(hear.resolve, 500);
    expect(await story.rig.client.workflow.getHandle(incident).result()).toMatchObject({ outcome: 'cancelled' });
    open.resolve();
    await eventually(
      () => story.status(handle),
      (seen) => seen.last?.outcome === 'cancelled',
    );
    await story.ended(handle);
  });
});
