import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { attachTestCluster } from '../../testbed/attach.ts';
import { readWrites, type Write } from '../../testbed/audit.ts';
import { batchJob, type JobManifest, pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { labels } from '../../contract/ids.ts';
import type { AttemptPod, JobRef } from '../../contract/job/jobs.ts';
import type { StopRequest, StopResult } from '../../contract/recovery/recovery.ts';
import { jobPath } from '../../kube/jobs/kinds/index.ts';
import { deletePod, podsOfJob, podsPath } from '../../kube/pods/pods.ts';
import { askKube, patchObject } from '../../kube/client/requests.ts';
import { eventually } from '../support/rig.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

let cluster: LiveCluster;
beforeAll(async () => {
  cluster = await liveCluster();
});
afterAll(async () => {
  for (const tidyUp of tidyUps) await tidyUp().catch(() => undefined);
  await cluster.close();
});

const tidyUps: (() => Promise<unknown>)[] = [];
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const common = { gpus: 0, labels: { [labels.cascadingRecovery]: 'true' } };
const name = () => `stop-${randomUUID().slice(0, 8)}`;
const pytorch = (terminationSeconds: number, restartPolicy: 'OnFailure' | 'Never' = 'OnFailure') =>
  pytorchJob({ ...common, name: name(), workers: 2, terminationSeconds, restartPolicy });
const batch = (terminationSeconds: number) => batchJob({ ...common, name: name(), pods: 3, terminationSeconds });

/** A job whose pods run, and a request to stop all of them. */
async function running(manifest: JobManifest, by: StopRequest['by']): Promise<StopRequest> {
  const created = await createJob(cluster.api, manifest);
  const { kind, namespace, uid } = created;
  const job: JobRef = { kind, namespace, name: created.name, uid };
  tidyUps.push(() =>
    askKube(
      cluster.kube,
      { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
      'tidy up',
    ),
  );
  await awaitRunning(cluster.api, created);
  const seen = await cluster.run('observeAttempt', { job, nodes: [] });
  return {
    incident,
    attempt: 1,
    job,
    by,
    resourceVersion: seen.job?.resourceVersion ?? '',
    pods: seen.pods,
    because: 'a test asks',
    deadlineMs: 30_000,
  };
}

const present = async ({ job }: StopRequest) => (await podsOfJob(cluster.kube, job)).present;
const uids = (pods: readonly AttemptPod[]): string[] => pods.map(({ uid }) => uid).toSorted();
const lostOf = (result: StopResult): readonly AttemptPod[] => (result.kind === 'lost' ? result.pods : []);
/** Longer than any kubelet keeps a pod in these tests, s. */
const long = 600;

/** Keeps the pod visible after its end, until the returned function is called. */
async function keep({ job }: StopRequest, pod: AttemptPod): Promise<() => Promise<unknown>> {
  const path = `${podsPath(job.namespace)}/${pod.name}`;
  const letGo = () => patchObject(cluster.kube, path, { metadata: { finalizers: null } }, 'let it go');
  await patchObject(cluster.kube, path, { metadata: { finalizers: ['testbed.kcover.io/kept'] } }, 'keep it');
  tidyUps.unshift(letGo);
  return letGo;
}

describe('a stop of single pods', () => {
  it('has them recreated, and the others go on', async () => {
    const all = await running(pytorch(1), 'pods');
    const broken = all.pods.slice(-1);
    const remaining = all.pods.slice(0, -1);
    // Even if somebody wrote to the job since the look, its pods are the same.
    await patchObject(
      cluster.kube,
      jobPath(all.job),
      { metadata: { annotations: { 'example.org/note': 'new' } } },
      'change the job',
    );
    expect(await cluster.run('stopAttempt', { ...all, pods: broken })).toMatchObject({ kind: 'stopped', requests: 1 });

    const next = await cluster.run('awaitAttempt', {
      incident,
      job: all.job,
      old: uids(broken),
      remaining: uids(remaining),
      deadlineMs: 60_000,
    });
    expect(next).toMatchObject({ kind: 'running', misplaced: 0 });
    if (next.kind !== 'running') throw new Error('it does not run');
    expect(next.pods).toHaveLength(all.pods.length);
    expect(uids(next.pods)).toEqual(expect.arrayContaining(uids(remaining)));
    expect(uids(next.pods)).not.toContain(broken[0]?.uid);
    expect((await cluster.run('observeJob', { job: all.job }))?.finished).toBeUndefined();
    expect((await cluster.run('observeJob', { job: all.job }))?.suspension).toBeUndefined();
  });

  it('deletes no pod that is terminating or gone, and none that took the name since', async () => {
    const all = await running(pytorch(1), 'pods');
    const [gone, ...others] = all.pods;
    if (!gone) throw new Error('no pods');
    await deletePod(cluster.kube, all.job.namespace, gone);
    const again = await eventually(
      () => present(all),
      (pods) => pods.some((pod) => pod.name === gone.name && pod.uid !== gone.uid),
    );
    expect(await cluster.run('stopAttempt', { ...all, pods: [gone] })).toMatchObject({ kind: 'stopped', requests: 0 });
    // Not the exact set: the simulated kubelet deletes by name, and sometimes twice.
    expect(uids(again)).toEqual(expect.arrayContaining(uids(others)));
  });
});

describe('a stop without grace', () => {
  it.each<[string, JobManifest, StopRequest['by']]>([
    ['PyTorchJob by suspending it', pytorch(long), 'suspend'],
    ['PyTorchJob with Never by suspending it', pytorch(long, 'Never'), 'suspend'],
    ['PyTorchJob by deleting its pods', pytorch(long), 'delete-collection'],
    ['batch Job, which may not fail once, by suspending it', batch(long), 'suspend'],
  ])(
    'is sent first and returns the pods left, ends them when it is called again, and fails no job: %s',
    async (_, manifest, by) => {
      const request: StopRequest = { ...(await running(manifest, by)), immediate: true };
      const asked = await cluster.run('stopAttempt', request);
      expect(asked).toMatchObject({ kind: 'lost', because: 'mode is force' });
      expect(uids(lostOf(asked))).toEqual(uids(request.pods));

      const ended = await cluster.run('stopAttempt', { ...request, force: lostOf(asked) });
      expect(ended).toMatchObject({ kind: 'stopped' });
      expect(uids(ended.kind === 'stopped' ? (ended.forced ?? []) : [])).toEqual(uids(request.pods));

      await cluster.run('resumeJob', { job: request.job, incident });
      const next = await cluster.run('awaitAttempt', {
        incident,
        job: request.job,
        old: uids(request.pods),
        deadlineMs: 60_000,
      });
      expect(next).toMatchObject({ kind: 'running' });
      expect((await cluster.run('observeJob', { job: request.job }))?.finished).toBeUndefined();
    },
  );

  it('leaves pods alone that their controller has not deleted: it would count them as failed', async () => {
    const request: StopRequest = { ...(await running(batch(1), 'suspend')), immediate: true, deadlineMs: 4000 };
    const early = await cluster.run('stopAttempt', { ...request, force: request.pods });
    expect(early).toMatchObject({ kind: 'timed-out' });
    expect(early).not.toHaveProperty('forced');
    expect(uids(await present(request))).toEqual(uids(request.pods));
  });

  it('also ends pods that their controller deletes later', async () => {
    const request: StopRequest = { ...(await running(pytorch(long), 'suspend')), immediate: true };
    const [first] = request.pods;
    if (!first) throw new Error('no pods');
    await deletePod(cluster.kube, request.job.namespace, first);
    const forcing = cluster.run('stopAttempt', { ...request, force: request.pods });
    // The first look is over: nothing else would end the activity so soon.
    await eventually(
      () => present(request),
      (pods) => !pods.some(({ uid }) => uid === first.uid),
    );
    await patchObject(
      cluster.kube,
      jobPath(request.job),
      { spec: { runPolicy: { suspend: true } } },
      'suspend the job',
    );
    const ended = await forcing;
    expect(ended).toMatchObject({ kind: 'stopped' });
    expect(uids(ended.kind === 'stopped' ? (ended.forced ?? []) : [])).toEqual(uids(request.pods));
  });

  it('is over at once when no pod is left', async () => {
    const request = await running(pytorch(1), 'suspend');
    await cluster.run('stopAttempt', request);
    expect(await cluster.run('stopAttempt', { ...request, immediate: true })).toMatchObject({
      kind: 'stopped',
      requests: 0,
    });
  });
});

describe('pods that outlive a stop on ready nodes', () => {
  it('are left alone until grace is over, and then deleted by force, except those outside the request', async () => {
    const all = await running(pytorch(long), 'pods');
    const [first, second, other] = all.pods;
    if (!first || !second || !other) throw new Error('no pods');
    const request: StopRequest = { ...all, pods: [first, second], deadlineMs: 4000 };
    expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'timed-out' });

    // Their nodes are ready, so none of them is lost.
    expect(await cluster.run('stopAttempt', { ...request, force: [first] })).toMatchObject({ kind: 'timed-out' });
    const ended = await cluster.run('stopAttempt', {
      ...request,
      deadlineMs: 30_000,
      force: all.pods,
      immediate: true,
    });
    expect(ended).toMatchObject({ kind: 'stopped', forced: [{ uid: first.uid }, { uid: second.uid }] });
    expect(uids(await present(all))).toContain(other.uid);
  });

  it('are left alone for their own grace period, and deleted by force after that', async () => {
    const all = await running(pytorch(long), 'pods');
    const pods = all.pods.slice(-1);
    const [slow] = pods;
    if (!slow) throw new Error('no pods');
    const request: StopRequest = { ...all, pods, deadlineMs: 2000 };
    expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'timed-out' });

    const forcing = cluster.run('stopAttempt', { ...request, force: pods, immediate: true, overdue: true });
    await sleep(7000);
    expect((await present(all)).map(({ uid }) => uid)).not.toContain(slow.uid);
    expect(await deletesOf(slow)).toHaveLength(1);
    // Its grace period is over in a second, by the API server's clock.
    const body = { contentType: 'application/json', text: JSON.stringify({ gracePeriodSeconds: 1 }) };
    await askKube(
      cluster.kube,
      { method: 'DELETE', path: `${podsPath(all.job.namespace)}/${slow.name}`, body },
      'shorten its time',
    );
    expect(await forcing).toMatchObject({ kind: 'stopped', forced: [{ uid: slow.uid }] });
    expect(await deletesOf(slow)).toHaveLength(3);
  });

  it('are not deleted by force twice, and are named when another client keeps them', async () => {
    const all = await running(pytorch(long), 'pods');
    const pods = all.pods.slice(-1);
    const [kept] = pods;
    if (!kept) throw new Error('no pods');
    const letGo = await keep(all, kept);
    const request: StopRequest = { ...all, pods, deadlineMs: 4000 };
    expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'timed-out' });
    const forced: StopRequest = { ...request, force: pods, immediate: true };
    expect(await cluster.run('stopAttempt', forced)).toMatchObject({
      kind: 'timed-out',
      left: [kept.name],
      forced: [{ uid: kept.uid }],
    });

    expect(await cluster.run('stopAttempt', forced)).toMatchObject({
      kind: 'timed-out',
      left: [kept.name],
      forced: [{ uid: kept.uid }],
    });
    expect(await deletesOf(kept)).toHaveLength(2);
    await letGo();
    expect(await cluster.run('stopAttempt', { ...forced, deadlineMs: 30_000 })).toMatchObject({
      kind: 'stopped',
      forced: [{ uid: kept.uid }],
    });
  });
});

/** Deletions in the API server's audit log. */
async function deletesOf({ uid }: AttemptPod): Promise<readonly Write[]> {
  const { auditLog } = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '').kubernetes;
  return (await readWrites(auditLog)).filter(({ verb, deleted }) => verb === 'delete' && deleted.includes(uid));
}
