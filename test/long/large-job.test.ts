import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import { podFault } from '../support/builders.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

/** Temporal's limit for one payload; a workflow that sends more never ends. */
const mostBytes = 2 * 1024 * 1024;

type HistoryEvent = NonNullable<
  NonNullable<Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>['history']>['events']
>[number];

/** Bytes of all payloads below a value. */
function payloadBytes(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, each) => sum + payloadBytes(each), 0)
    : 0;
}

/** Page by page: the whole does not fit into one answer. */
async function eventsOf(client: Client, workflowId: string): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId },
      maximumPageSize: 2,
      ...(nextPageToken && { nextPageToken }),
    });
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken?.length);
  return events;
}

describe('a job of 5,000 pods', () => {
  const jobRig = useJobRig();
  const many = (): AttemptPod[] =>
    Array.from({ length: 5000 }, (_, index) => ({
      name: `llama-405b-pretrain-stage-2-2026-11-worker-${index}`,
      uid: randomUUID(),
      node: `gke-prod-train-us-central1-a3-mega-pool-1-1a2b3c4d-${(10_000 + index).toString(36)}`,
    }));
  const failing = (some: readonly AttemptPod[]) =>
    some.map(({ name, uid, node = '' }) =>
      podFault({
        id: `pod/${uid}/containerd://${'c'.repeat(64)}`,
        message: 'RuntimeError: NCCL communicator was aborted '.repeat(10),
        node,
        seenAt: new Date().toISOString(),
        pod: { name, uid, createdAt: new Date().toISOString() },
      }),
    );

  it('is stopped three times in one incident and reported, with no payload too large for Temporal', async () => {
    const { cluster } = jobRig;
    cluster.pods = many();
    cluster.place = () => {
      cluster.pods = many();
    };
    cluster.view = cluster.view && { ...cluster.view, podsExpected: 5000 };
    let ready: () => void = () => undefined;
    cluster.gate = new Promise((resolve) => (ready = resolve));
    const handle = await jobRig.start();
    for (let stop = 1; stop <= 3; stop++) {
      await handle.signal('faultsObserved', { faults: failing(cluster.pods.slice(0, 60)) });
      await eventually(
        () => [cluster.stopped.length, cluster.pods.length],
        ([stops, pods]) => stops === stop && pods === 5000,
      );
      if (stop === 3) ready();
    }
    const { last } = await eventually(
      () => jobRig.status(handle),
      (seen) => seen.last?.outcome === 'restarted',
      120_000,
    );
    const recovery = jobRig.rig.client.workflow.getHandle(last?.incident ?? '');
    await recovery.result();
    expect(cluster.stopped.map(({ uids }) => uids.length)).toEqual([5000, 5000, 5000]);
    expect(cluster.records).toMatchObject([
      { stops: [{ attempt: 1 }, { attempt: 2, of: 5000 }, { attempt: 3, of: 5000 }], runningOf: 5000 },
    ]);
    expect(cluster.records[0]?.stops[0]?.pods).toHaveLength(5000);
    expect(new Set(cluster.records[0]?.stops.map(({ digest }) => digest)).size).toBe(3);

    const events = await eventsOf(jobRig.rig.client, recovery.workflowId);
    const sizes = events.map(payloadBytes);
    expect(Math.max(...sizes)).toBeLessThan(mostBytes);
    // A look is a local activity, whose answer is in a marker.
    const seen = events.flatMap((event, at) => (event.markerRecordedEventAttributes ? [sizes[at] ?? 0] : []));
    expect(seen.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...seen)).toBeLessThan(100_000);
    await jobRig.ended(handle);
  });
});
