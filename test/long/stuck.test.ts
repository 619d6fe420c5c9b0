import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { incidentActivities } from '../../activities/incidents.ts';
import { kernelFault, settings } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

describe('a recovery that makes no progress', () => {
  const jobRig = useJobRig();

  it('is distinguished from one that runs by how often its workflow task failed', async () => {
    const { client, taskQueue } = jobRig.rig;
    const { lookAtRecovery } = incidentActivities({
      settings: settings(),
      temporal: () => client,
      now: Date.now,
      log: pino({ level: 'silent' }),
    });
    const waits = await client.workflow.start('recovery', {
      workflowId: `recovery/waits-${randomUUID()}`,
      taskQueue: 'nobody-listens',
      args: [],
    });
    const fails = await client.workflow.start('a type that no worker knows', {
      workflowId: `recovery/fails-${randomUUID()}`,
      taskQueue,
      args: [],
    });
    try {
      const seen = await eventually(
        () => lookAtRecovery({ incident: fails.workflowId }),
        (one) => one.kind === 'running' && one.stuck !== undefined,
      );
      expect(seen).toMatchObject({
        kind: 'running',
        stuck: expect.stringMatching(/^its workflow task failed \d+ times in a row/),
      });
      expect(await lookAtRecovery({ incident: waits.workflowId })).toEqual({ kind: 'running' });
    } finally {
      await Promise.all([waits.terminate(), fails.terminate()]);
    }
  });

  it('is shown by its job and reported to people', async () => {
    const incident = `recovery/${randomUUID()}`;
    jobRig.cluster.found = { usage: [], open: incident };
    jobRig.cluster.stuck = 'its workflow task failed 7 times in a row';
    const handle = await jobRig.start();
    expect(
      await eventually(
        () => jobRig.status(handle),
        (seen) => seen.phase === 'stuck',
      ),
    ).toMatchObject({ incident, waitingFor: `temporal workflow terminate --workflow-id ${incident}` });
    await eventually(
      () => jobRig.cluster.announced,
      ([event]) =>
        event?.reason === 'RecoveryStuck' && event.type === 'Warning' && event.message.includes('may stay suspended'),
    );
    await handle.signal('recoveryEnded', { incident, outcome: 'escalated', because: 'mended', stops: 1, faults: [] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.phase === 'watching' && seen.last?.because === 'mended',
    );
    await jobRig.ended(handle);
  });

  it('does not keep its job waiting for a record that cannot be written', async () => {
    let write: () => void = () => undefined;
    jobRig.cluster.recordGate = new Promise((resolve) => (write = resolve));
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted' && seen.phase === 'watching',
    );
    expect(jobRig.cluster.records).toEqual([]);
    const { incident = '' } = (await jobRig.status(handle)).last ?? {};
    const { events = [] } = await jobRig.rig.client.workflow.getHandle(incident).fetchHistory();
    const [signalled, recorded] = ['workflowExecutionSignaled', 'recordIncident'].map((what) =>
      (events ?? []).findIndex((event) =>
        what === 'recordIncident'
          ? event.activityTaskScheduledEventAttributes?.activityType?.name === what
          : event.externalWorkflowExecutionSignaledEventAttributes !== null &&
            event.externalWorkflowExecutionSignaledEventAttributes !== undefined,
      ),
    );
    const completed = (events ?? []).findLastIndex(
      (event, at) => at < (recorded ?? 0) && Boolean(event.workflowTaskCompletedEventAttributes),
    );
    expect(signalled).toBeGreaterThan(0);
    expect(completed).toBeGreaterThan(signalled ?? 0);
    write();
    await jobRig.rig.client.workflow.getHandle(incident).result();
    await jobRig.ended(handle);
  });

  it('leaves no job without its workflow when Temporal cannot search for earlier recoveries', async () => {
    jobRig.cluster.unsearchable = 'the search store is down';
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(kernelFault())] });
    await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
    );
    await eventually(
      () => jobRig.cluster.announced,
      (events) =>
        events.some(
          ({ reason, message }) => reason === 'BudgetUnknown' && message.includes('the search store is down'),
        ),
    );
    await jobRig.ended(handle);
  });
});
