import { describe, expect, it } from '@jest/globals';
import type { RecoverAnswer } from '../../contract/job/training-job.ts';
import { kernelFault, podFaultNow, settings } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('the workflow of a training job', () => {
  const jobRig = useJobRig();

  it('restarts the whole job once for the fault of a node, and says so', async () => {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    expect(jobRig.cluster.resumes).toBe(1);
    expect(jobRig.cluster.pods.map((pod) => pod.node)).not.toContain('gpu-3');
    expect(jobRig.cluster.records).toMatchObject([
      { outcome: 'restarted', faults: [{ code: 'xid/79' }], stops: [{ attempt: 1, by: 'suspend' }] },
    ]);
    await eventually(
      () => jobRig.cluster.reasons(),
      (reasons) => ['RecoveryStarted', 'AttemptStopped', 'JobRestarted'].every((reason) => reasons.includes(reason)),
    );
    jobRig.rig.replayAtEnd(jobRig.cluster.records[0]?.incident ?? '');
    expect(await jobRig.ended(handle)).toMatchObject({ outcome: 'gone' });
  });

  it('makes one incident of a pod failure and the node fault that it overtook', async () => {
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', {
      faults: [
        podFaultNow({
          pod: { name: 'llm-3', uid: jobRig.cluster.pods[3]?.uid ?? '', createdAt: '2026-11-21T06:00:00Z' },
        }),
      ],
    });
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted' && seen.phase === 'watching',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    expect(jobRig.cluster.records).toHaveLength(1);
    expect(jobRig.cluster.records[0]?.faults.map((fault) => fault.code).toSorted()).toEqual(['pod/exit', 'xid/79']);
    await jobRig.ended(handle);
  });

  it('waits with a pod failure while the agent of its node is silent, says so, and goes on once it is seen again', async () => {
    const handle = await jobRig.start();
    const pod = { name: 'llm-3', uid: jobRig.cluster.pods[3]?.uid ?? '', createdAt: '2026-11-21T06:00:00Z' };
    await handle.signal('faultsObserved', {
      faults: [podFaultNow({ pod, unobservable: 'the agent of gpu-3 last reported 45s ago' })],
    });
    const waiting = await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'waiting',
    );
    expect(waiting.because).toContain('unobservable: the agent of gpu-3');
    await handle.signal('faultsObserved', { faults: [podFaultNow({ pod })] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('handles the same fault once, however often it is sent', async () => {
    const handle = await jobRig.start();
    const faults = [jobRig.cluster.quarantined(kernelFault())];
    for (let time = 0; time < 3; time++) await handle.signal('faultsObserved', { faults });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    await handle.signal('faultsObserved', { faults });
    await handle.signal('faultsObserved', { faults: [{ nonsense: true }] });
    expect(
      await eventually(
        () => jobRig.status(handle),
        (seen) => seen.dropped === 1,
      ),
    ).toMatchObject({ phase: 'watching' });
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('answers a person at once, refuses a second request meanwhile, and goes beyond the budget', async () => {
    jobRig.cluster.settings = settings({ mode: 'observe' });
    let open = () => {};
    jobRig.cluster.gate = new Promise((resolve) => (open = resolve));
    const handle = await jobRig.start();
    const request = { by: 'ada', reason: 'loss is flat' };
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching',
    );
    const answer = await handle.executeUpdate<RecoverAnswer, [typeof request]>('recoverNow', { args: [request] });
    expect(answer.incident).toContain(jobRig.cluster.job.uid);
    await expect(handle.executeUpdate('recoverNow', { args: [request] })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('already recovering') },
    });
    await expect(handle.executeUpdate('recoverNow', { args: [{ by: 'ada' }] })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('`reason`') },
    });
    open();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.records[0]).toMatchObject({
      incident: answer.incident,
      because: expect.stringContaining('not verified'),
    });
    await jobRig.ended(handle);
  });

  it('does the same for a signal without a payload, as the Temporal UI sends it', async () => {
    const handle = await jobRig.start();
    await handle.signal('recover');
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    await jobRig.ended(handle);
  });

  it('waits between recoveries, then refuses, and lets a person decide', async () => {
    jobRig.cluster.settings = settings({
      mode: 'act',
      recovery: { correlation: '1ms', budget: { recoveries: 2, backoff: { first: '10ms', most: '10ms' } } },
    });
    const handle = await jobRig.start();
    for (let round = 0; round < 3; round++) {
      await handle.signal('faultsObserved', {
        faults: [
          podFaultNow({
            id: `pod/${round}`,
            pod: { name: 'llm-0', uid: `${round}`, createdAt: '2099-01-01T00:00:00Z' },
          }),
        ],
      });
      await eventually(
        () => jobRig.cluster.stopped.length,
        (stops) => stops === Math.min(round + 1, 2),
      );
      await eventually(
        () => jobRig.status(handle),
        (seen) => seen.phase === (round < 2 ? 'watching' : 'refused'),
      );
    }
    expect(await jobRig.status(handle)).toMatchObject({
      because: expect.stringContaining('2 recoveries in the last 1h'),
      until: expect.any(String),
    });
    await eventually(
      () => jobRig.cluster.reasons(),
      (reasons) => reasons.includes('RecoveryRefused'),
    );
    await handle.executeUpdate('recoverNow', { args: [{ by: 'ada', reason: 'fixed the data loader' }] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching' && jobRig.cluster.stopped.length === 3,
    );
    await jobRig.ended(handle);
  });

  it.each([
    ['a report of no known outcome', 'recoveryEnded', { incident: 'x', outcome: 5, because: 1, faults: 'all' }],
    ['a request that is a list', 'recover', [1, 2]],
    ['a fault with a broken hold', 'faultsObserved', { faults: [{ ...kernelFault(), quarantine: null }] }],
  ])('goes on after %s', async (_, signal, payload) => {
    jobRig.cluster.settings = settings();
    const handle = await jobRig.start();
    await handle.signal(signal, payload);
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching' || seen.phase === 'recovering',
    );
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching',
    );
    await jobRig.ended(handle);
  });

  it('changes nothing in mode observe, and records what it would have done', async () => {
    jobRig.cluster.settings = settings();
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', {
      faults: [kernelFault({ quarantine: { state: 'observed', because: 'xid/79' } })],
    });
    await eventually(() => jobRig.cluster.records.length, Boolean);
    expect(jobRig.cluster.records[0]).toMatchObject({
      outcome: 'refused',
      because: expect.stringContaining('would stop 4 pods'),
    });
    expect(jobRig.cluster.stopped).toEqual([]);
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.recoveriesThisHour === 0 && seen.phase === 'watching',
    );
    await jobRig.ended(handle);
  });

  it('still knows its budget usage, and which recovery is open, when its own workflow was lost and starts anew', async () => {
    jobRig.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms', budget: { recoveries: 2 } } });
    jobRig.cluster.found = {
      usage: [1, 2].map((minutes) => ({
        incident: `${minutes}`,
        startedAt: Date.now() - minutes * 60_000,
        endedAt: Date.now(),
      })),
    };
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', {
      faults: [podFaultNow({ pod: { name: 'llm-0', uid: 'x', createdAt: '2099-01-01T00:00:00Z' } })],
    });
    expect(
      await eventually(
        () => jobRig.status(handle),
        (seen) => seen.phase === 'refused',
      ),
    ).toMatchObject({ recoveriesThisHour: 2 });
    expect(jobRig.cluster.stopped).toEqual([]);
    await jobRig.ended(handle);
  });

  it('refuses a label that is set again and again, says how to go on, and still does what a person asks', async () => {
    const asked = Array.from({ length: 5 }, (_, index) => ({
      incident: `i${index}`,
      startedAt: Date.now() - 60_000 * (index + 1),
    }));
    jobRig.cluster.found = { usage: asked };
    const handle = await jobRig.start();
    await handle.signal('recover', { by: 'label', reason: 'need-recovery', label: true });
    await eventually(
      () => jobRig.cluster.announced,
      (all) =>
        all.some(
          ({ reason, message }) => reason === 'RecoveryRefused' && /allowed by label.*kcover recover/.test(message),
        ),
    );
    expect([jobRig.cluster.labelsRemoved, jobRig.cluster.stopped.length]).toEqual([1, 0]);
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching',
    );
    await handle.executeUpdate('recoverNow', { args: [{ by: 'ada', reason: 'the label has no more' }] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('does what a person asks while a label beyond its budget is judged', async () => {
    const before = { asked: true, byLabel: true, blame: 'user' } as const;
    jobRig.cluster.found = {
      usage: Array.from({ length: 5 }, (_, index) => ({
        incident: `i${index}`,
        startedAt: Date.now() - 60_000 * (index + 1),
        ...before,
      })),
    };
    const handle = await jobRig.start();
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching',
    );
    let read: () => void = () => undefined;
    jobRig.cluster.readable = new Promise((resolve) => (read = resolve));
    await handle.signal('recover', { by: 'label', reason: 'need-recovery', label: true });
    await eventually(
      async () => (await handle.describe()).raw.pendingActivities?.map((each) => each.activityType?.name),
      (names) => names?.includes('observeJob') === true,
    );
    const { incident } = await handle.executeUpdate<RecoverAnswer, [object]>('recoverNow', {
      args: [{ by: 'ada', reason: 'now' }],
    });
    read();
    expect(
      await eventually(
        () => jobRig.status(handle),
        (seen) => seen.last !== undefined,
      ),
    ).toMatchObject({ last: { incident, outcome: 'restarted' } });
    expect(jobRig.cluster.stopped).toHaveLength(1);
    await jobRig.ended(handle);
  });

  it('ends at once for a job that is gone, finished or opted out', async () => {
    jobRig.cluster.view = null;
    expect(await (await jobRig.start()).result()).toMatchObject({ outcome: 'gone' });
  });

  it('warns at opt-in of a job that could not be recovered', async () => {
    jobRig.cluster.view = jobRig.cluster.view && { ...jobRig.cluster.view, canStopBy: [], restartPolicy: 'Never' };
    const handle = await jobRig.start();
    await eventually(
      () => jobRig.cluster.announced,
      (all) =>
        all.some((one) => one.reason === 'NotRecoverable' && one.message.includes('use restart policy OnFailure')),
    );
    await jobRig.ended(handle);
  });
});
