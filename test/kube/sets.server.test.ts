/** JobSet and TrainJob as API objects. Their controllers are simulated; their batch Jobs and pods are real. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import { type JobKind, type JobRef } from '../../contract/job/jobs.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { readJob, resumeJob, suspendJob } from '../../kube/jobs/jobs.ts';
import { jobWithPods, topJob } from '../../kube/jobs/child-jobs.ts';
import { listMatchingPods, podsOfJob } from '../../kube/pods/pods.ts';
import { patchObject } from '../../kube/client/requests.ts';
import { jobKinds, jobPath } from '../../kube/jobs/kinds/index.ts';
import { type Api, connect } from '../../testbed/api.ts';
import { createJob, type RunningJob } from '../../testbed/jobs.ts';
import { jobSet, trainJob } from '../../testbed/set-manifests.ts';
import { eventually, testServers, type TestServers } from '../support/rig.ts';
import { type PlayedSet, type PlayOptions, playSet } from '../support/set-controller.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const optIn = { [labels.cascadingRecovery]: 'true' };
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';

let kube: Kube;
let api: Api;
let namespace: string;
const played: PlayedSet[] = [];

beforeAll(async () => {
  const { kubeconfig } = testServers<TestServers & { readonly kubeconfig: string }>();
  kube = connectKube({ kubeconfig });
  api = connect(kubeconfig);
  namespace = `sets-${randomUUID().slice(0, 8)}`;
  await api.core.createNamespace({ body: { metadata: { name: namespace } } });
});
afterAll(async () => {
  await Promise.all(played.map((set) => set.close()));
  await api.core.deleteNamespace({ name: namespace });
  await kube.close();
});

const roles = { leader: 1, workers: 2 };
async function play(options: Partial<PlayOptions> & { readonly kind: 'JobSet' | 'TrainJob' }): Promise<PlayedSet> {
  const set = await playSet(api, { name: `set-${randomUUID().slice(0, 8)}`, namespace, gpus: 0, roles, ...options });
  played.push(set);
  return set;
}

async function seen(ref: JobRef) {
  const view = await readJob(kube, ref, taint);
  if (!view) throw new Error(`${ref.name} is gone`);
  return view;
}

const uidsOf = (pods: readonly V1Pod[]): string[] => pods.map(({ metadata }) => metadata?.uid ?? '').toSorted();
const uidsNow = async (ref: JobRef): Promise<string[]> =>
  (await podsOfJob(kube, ref)).present.map(({ uid }) => uid).toSorted();

/** A pod with the labels of the set that does not belong to it, with forged owner references if `more` has some. */
async function stranger(set: PlayedSet, more: object = {}, labelsMore: object = {}): Promise<V1Pod> {
  const worn = { 'jobset.sigs.k8s.io/jobset-name': set.set.name, ...labelsMore };
  const metadata = { name: `stranger-${randomUUID().slice(0, 8)}`, labels: worn, ...more };
  const spec = { serviceAccountName: 'default', containers: [{ name: 'x', image: 'registry.k8s.io/pause:3.10' }] };
  return api.core.createNamespacedPod({ namespace, body: { metadata, spec } });
}

describe.each(['JobSet', 'TrainJob'] as const)('a %s', (kind) => {
  it('is opted in, suspended with our annotation, and resumed, with all of its pods', async () => {
    const set = await play({ kind, labels: optIn, podLabels: optIn });
    const first = await set.running();
    expect(await seen(set.ref)).toMatchObject({ optedIn: true, podsExpected: 3, canStopBy: ['suspend'] });
    expect(await uidsNow(set.ref)).toEqual(uidsOf(first));

    const { resourceVersion } = await seen(set.ref);
    await suspendJob(kube, { job: set.ref, incident, attempt: 1, resourceVersion });
    await eventually(
      () => podsOfJob(kube, set.ref),
      ({ present, terminating }) => present.length + terminating.length === 0,
      60_000,
    );
    expect((await seen(set.ref)).suspension).toEqual({ by: 'kcover', incident, attempt: 1 });
    expect(await resumeJob(kube, set.ref, incident)).toBe(true);
    const next = await set.running(new Set(uidsOf(first)));
    expect(await uidsNow(set.ref)).toEqual(uidsOf(next));
    expect((await seen(set.ref)).suspension).toBeUndefined();
  });

  it('is the only one of its jobs that is opted in, whatever labels those carry', async () => {
    const set = await play({ kind, labels: optIn, podLabels: optIn });
    const [child] = set.jobs;
    if (!child) throw new Error('no job');
    await patchObject(kube, jobPath(child), { metadata: { labels: optIn } }, 'label');
    expect((await seen(child)).optedIn).toBe(false);
    expect((await seen(set.set)).optedIn).toBe(kind === 'JobSet');
    expect(await topJob(kube, child)).toEqual(set.ref);
  });

  it('has no owner, though an owner reference names the job itself', async () => {
    const set = await play({ kind, labels: optIn, podLabels: optIn });
    const { apiVersion } = jobKinds[kind];
    const claim = (ownerJob: JobRef) => ({
      metadata: { ownerReferences: [{ apiVersion, kind, name: ownerJob.name, uid: ownerJob.uid, controller: true }] },
    });
    await patchObject(kube, jobPath(set.ref), claim(set.ref), 'claim');
    expect(await topJob(kube, set.ref)).toEqual(set.ref);
    expect((await seen(set.ref)).optedIn).toBe(true);
  });

  it('leaves alone the pods of strangers that carry its labels', async () => {
    const set = await play({ kind });
    const own = await set.running();
    const owner = { apiVersion: 'batch/v1', kind: 'Job', controller: true } as const;
    const strangers = [
      await stranger(set),
      await stranger(set, { ownerReferences: [{ ...owner, name: 'another', uid: randomUUID() }] }),
      await stranger(
        set,
        { ownerReferences: [{ ...owner, name: `${set.set.name}-x-0`, uid: randomUUID() }] },
        { 'jobset.sigs.k8s.io/jobset-uid': randomUUID() },
      ),
    ];
    expect((await listMatchingPods(kube, set.ref)).length).toBeGreaterThan(own.length);
    expect(await uidsNow(set.ref)).toEqual(uidsOf(own));
    await Promise.all(
      strangers.map(({ metadata }) =>
        api.core
          .deleteNamespacedPod({ namespace, name: metadata?.name ?? '', gracePeriodSeconds: 0 })
          .catch(() => undefined),
      ),
    );
  });

  it('also has the pods without a UID label', async () => {
    const set = await play({ kind, labelsUid: false });
    const own = await set.running();
    expect(await uidsNow(set.ref)).toEqual(uidsOf(own));
  });
});

it('a TrainJob has none of the pods of a JobSet that has only its name', async () => {
  const set = await play({ kind: 'JobSet' });
  await set.running();
  const job = refOf('TrainJob', await createJob(api, trainJob({ name: set.ref.name, namespace, labels: optIn })));
  expect(await jobWithPods(kube, job)).toBeUndefined();
  expect(await podsOfJob(kube, job)).toEqual({ present: [], terminating: [], succeeded: [] });
});

describe('a job that has ended', () => {
  it.each([
    ['JobSet', 'Completed', 'succeeded'],
    ['JobSet', 'Failed', 'failed'],
    ['TrainJob', 'Complete', 'succeeded'],
    ['TrainJob', 'Failed', 'failed'],
  ] as const)('is known by the condition of a %s: %s', async (kind, type, as) => {
    const options = { name: `ended-${randomUUID().slice(0, 8)}`, namespace, suspend: true };
    const job = refOf(kind, await createJob(api, kind === 'JobSet' ? jobSet(options) : trainJob(options)));
    const condition = {
      type,
      status: 'True',
      reason: 'ByTest',
      message: 'so it ended',
      lastTransitionTime: '2026-11-21T07:00:00Z',
    };
    await patchObject(
      kube,
      `${jobPath(job)}/status`,
      { status: { conditions: [condition], ...(kind === 'JobSet' && { restarts: 0 }) } },
      'end',
    );
    expect((await seen(job)).finished).toEqual({ as, because: 'ByTest: so it ended' });
  });
});

const refOf = (kind: JobKind, { name, uid }: RunningJob): JobRef => ({ kind, namespace, name, uid });
