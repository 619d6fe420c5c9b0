import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Evidence, EvidenceFile } from '../../contract/recovery/evidence.ts';
import type { AttemptPod, JobRef } from '../../contract/job/jobs.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';
import { jobKinds, jobPath } from '../../kube/jobs/kinds/index.ts';
import { podFailures } from '../../kube/pods/failures.ts';
import { attemptPod, deletePod, listMatchingPods } from '../../kube/pods/pods.ts';
import { askKube } from '../../kube/client/requests.ts';
import { evict, failContainer } from '../../testbed/failures.ts';
import { batchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { failingFirst } from '../../workflows/recovery/incident.ts';
import { eventually } from '../support/rig.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

let cluster: LiveCluster;
let job: JobRef;
let looked: AttemptFacts;
let wanted: AttemptPod[];
let evidence: Evidence;
let index: EvidenceFile[];
let [exited, pressed, drained]: (V1Pod | undefined)[] = [];

/** Longer than any test runs, s. */
const long = 600;

const capture = (attempt: number): Promise<Evidence> => {
  const incident = `recovery/default/${job.name}/${job.uid}/2026-11-21T07:09:03.117Z`;
  return cluster.run('captureEvidence', { incident, attempt, job, pods: wanted, nodes: [], deadlineMs: 20_000 });
};
const uidOf = (pod: V1Pod | undefined): string => pod?.metadata?.uid ?? 'none';
const filesOf = (pod: V1Pod | undefined, what: EvidenceFile['what']): string[] =>
  index
    .filter((each) => each.pod === pod?.metadata?.name && each.what === what)
    .map(({ file }) => join(evidence.address, file));

beforeAll(async () => {
  cluster = await liveCluster();
  const name = `ended-${randomUUID().slice(0, 8)}`;
  const manifest = batchJob({
    name,
    pods: 4,
    gpus: 0,
    restartPolicy: 'Never',
    backoffLimit: 10,
    terminationSeconds: long,
  });
  const running = await createJob(cluster.api, manifest);
  job = { kind: running.kind, namespace: running.namespace, name, uid: running.uid };
  [exited, pressed, drained] = await awaitRunning(cluster.api, running);
  if (!exited || !pressed || !drained) throw new Error('too few pods run');
  await failContainer(cluster.api, exited, { exitCode: 1 });
  await evict(cluster.api, pressed, 'kubelet');
  await evict(cluster.api, drained);
  looked = await cluster.run('observeAttempt', { job, nodes: [] });
  const faults = (await listMatchingPods(cluster.kube, job)).flatMap((pod) => podFailures(pod, jobKinds.Job));
  wanted = failingFirst({ faults, stoppedPods: [] }, looked);
  evidence = await capture(1);
  index = JSON.parse(await readFile(join(evidence.address, 'index.json'), 'utf8')) as EvidenceFile[];
});
afterAll(async () => {
  await askKube(
    cluster.kube,
    { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
    'tidy up',
  ).catch(() => undefined);
  for (const pod of (await listMatchingPods(cluster.kube, job)).map(attemptPod))
    await deletePod(cluster.kube, job.namespace, pod, { force: true });
  await cluster.close();
});

describe('evidence of a batch job whose pods are never started again', () => {
  it('is of pods that a look at the present attempt no longer finds', () => {
    const present = looked.pods.map(({ uid }) => uid);
    for (const pod of [exited, pressed, drained]) expect(present).not.toContain(uidOf(pod));
    expect(
      wanted
        .slice(0, 2)
        .map(({ uid }) => uid)
        .toSorted(),
    ).toEqual([uidOf(exited), uidOf(pressed)].toSorted());
    expect(evidence).toMatchObject({ ranks: wanted.length, of: wanted.length });
  });

  it.each([
    [
      'whose container failed',
      () => exited,
      { phase: 'Failed', containers: [{ state: { terminated: { exitCode: 1 } } }] },
    ],
    ['that its kubelet evicted', () => pressed, { phase: 'Failed', reason: 'Evicted' }],
    ['that was evicted and is still terminating', () => drained, { deletionAt: expect.any(String) }],
  ] as const)('holds log and state of the rank %s', async (_, pod, state) => {
    const [[log = ''], [document = '']] = [filesOf(pod(), 'log'), filesOf(pod(), 'pod')];
    expect(await readFile(log, 'utf8')).toContain('simulated training');
    expect(JSON.parse(await readFile(document, 'utf8'))).toMatchObject({ uid: uidOf(pod()), ...state });
  });

  it('counts a deleted rank as missing, and records that', async () => {
    if (exited) await deletePod(cluster.kube, job.namespace, attemptPod(exited), { force: true });
    await eventually(
      () => listMatchingPods(cluster.kube, job),
      (pods) => !pods.map(uidOf).includes(uidOf(exited)),
    );
    const again = await capture(2);
    expect(again).toMatchObject({ ranks: wanted.length - 1, of: wanted.length });
    expect(again.because).toContain('state of 1 pod: gone before they were read');
  });
});
