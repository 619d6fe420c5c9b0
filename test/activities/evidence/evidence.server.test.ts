import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CoreV1Event } from '@kubernetes/client-node';
import { annotations } from '../../../contract/ids.ts';
import type { Evidence, EvidenceFile } from '../../../contract/recovery/evidence.ts';
import type { JobRef } from '../../../contract/job/jobs.ts';
import { jobPath } from '../../../kube/jobs/kinds/index.ts';
import { readPodLog } from '../../../kube/pods/logs.ts';
import { askKube, patchObject } from '../../../kube/client/requests.ts';
import { pytorchJob } from '../../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../../testbed/jobs.ts';
import { eventually } from '../../support/rig.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

let cluster: LiveCluster;
let job: JobRef;
let evidence: Evidence;
let index: EvidenceFile[];

/** The job, or one of its pods. */
const about = ({ involvedObject }: CoreV1Event, name: string): boolean =>
  involvedObject.name?.startsWith(name) === true;

const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(join(evidence.address, file), 'utf8'));

beforeAll(async () => {
  cluster = await liveCluster();
  const name = `evidence-${randomUUID().slice(0, 8)}`;
  const running = await createJob(cluster.api, pytorchJob({ name, workers: 3, gpus: 0, terminationSeconds: 1 }));
  job = { kind: running.kind, namespace: running.namespace, name: running.name, uid: running.uid };
  await awaitRunning(cluster.api, running);
  // Events are written some time after what they report.
  await eventually(
    () => cluster.api.core.listNamespacedEvent({ namespace: running.namespace }),
    ({ items }) =>
      ['Scheduled', 'SuccessfulCreatePod'].every(
        (reason) => items.filter((one) => one.reason === reason && about(one, name)).length >= 4,
      ),
  );
  await patchObject(
    cluster.kube,
    jobPath(job),
    { metadata: { annotations: { [annotations.step]: '1200', 'example.com/note': 'private' } } },
    'annotate the job',
  );
  const { pods } = await cluster.run('observeAttempt', { job, nodes: [] });
  const node = pods[0]?.node ?? '';
  const request = {
    incident: `recovery/default/${name}/${job.uid}/2026-11-21T07:09:03.117Z`,
    attempt: 1,
    job,
    pods,
    nodes: [node],
    deadlineMs: 20_000,
  };
  evidence = await cluster.run('captureEvidence', request);
  index = (await read('index.json')) as EvidenceFile[];
});
afterAll(async () => {
  await askKube(
    cluster.kube,
    { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
    'tidy up',
  ).catch(() => undefined);
  await cluster.close();
});

describe('evidence of a job on a real API server', () => {
  it('holds state and log of every rank', async () => {
    expect(evidence).toMatchObject({ attempt: 1, ranks: 4, of: 4, files: index.length });
    expect(index.filter(({ what }) => what === 'pod')).toHaveLength(4);
    const logs = index.filter(({ what, container }) => what === 'log' && container === 'pytorch');
    expect(new Set(logs.map(({ pod }) => pod)).size).toBe(4);
    for (const { file } of logs)
      expect(await readFile(join(evidence.address, file), 'utf8')).toContain('simulated training');
  });

  it('holds the Events that the scheduler wrote, and those of the job', async () => {
    const scheduled = index.filter(({ what, pod }) => what === 'events' && pod !== undefined);
    expect(scheduled).toHaveLength(4);
    expect(await read(scheduled[0]?.file ?? '')).toEqual(
      expect.arrayContaining([expect.objectContaining({ reason: 'Scheduled' })]),
    );
    expect(await read('job_events.json')).toEqual(
      expect.arrayContaining([expect.objectContaining({ reason: 'SuccessfulCreatePod' })]),
    );
  });

  it('holds status and progress of the job, and no other annotation', async () => {
    expect(await read('job.json')).toMatchObject({ name: job.name, annotations: { [annotations.step]: '1200' } });
    expect(await readFile(join(evidence.address, 'job.json'), 'utf8')).not.toContain('private');
  });

  it('holds conditions of the blamed node', async () => {
    const file = index.find(({ what }) => what === 'node')?.file ?? '';
    expect(await read(file)).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready' })]),
      taints: expect.any(Array),
    });
  });

  it('takes a pod that is gone for one without a log', async () => {
    const logRequest = {
      namespace: job.namespace,
      pod: { name: 'nobody' },
      container: 'pytorch',
      previous: false,
      lines: 10,
      bytes: 1000,
      signal: AbortSignal.timeout(10_000),
    };
    expect(await readPodLog(cluster.kube, logRequest)).toBeUndefined();
  });
});
