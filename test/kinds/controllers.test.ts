/** What the registry says of LeaderWorkerSet and the MPIJob of the mpi-operator, held against their own controllers. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/jobs.ts';
import { connectKube, type Kube } from '../../kube/connection.ts';
import { jobKinds, jobPath, jobsOfPods } from '../../kube/job-kinds/index.ts';
import { readJob, resumeJob, suspendJob } from '../../kube/jobs.ts';
import { topJob } from '../../kube/made-jobs.ts';
import { deletePod, listMatchingPods, podsOfJob } from '../../kube/pods.ts';
import { askKube } from '../../kube/requests.ts';
import { connect, type Api } from '../../testbed/api.ts';
import { succeed } from '../../testbed/failures.ts';
import type { JobOptions } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../../testbed/jobs.ts';
import { manifestOf } from '../../testbed/set-manifests.ts';
import { eventually, testServers, type TestServers } from '../support/rig.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const kinds = ['LeaderWorkerSet', 'MPIJobV2beta1'] as const;
type Kind = (typeof kinds)[number];

let kube: Kube;
let api: Api;
const created: JobRef[] = [];

beforeAll(() => {
  const { kubeconfig } = testServers<TestServers & { readonly kubeconfig: string }>();
  kube = connectKube({ kubeconfig });
  api = connect(kubeconfig);
});
afterAll(async () => {
  const query = { propagationPolicy: 'Background' };
  await Promise.all(created.map((job) => askKube(kube, { method: 'DELETE', path: jobPath(job), query }, 'tidy up').catch(() => undefined)));
  await kube.close();
});

async function runningJob(kind: Kind, options: Partial<JobOptions> = {}): Promise<{ job: RunningJob; ref: JobRef; first: V1Pod[] }> {
  const name = `kind-${randomUUID().slice(0, 8)}`;
  const job = await createJob(api, manifestOf(kind, { name, gpus: 0, labels: { [labels.cascadingRecovery]: 'true' }, ...options }));
  const ref = { kind, namespace: job.namespace, name, uid: job.uid };
  created.push(ref);
  return { job, ref, first: await awaitRunning(api, job, { withinMs: 120_000 }) };
}

const uidsOf = (pods: readonly V1Pod[]): string[] => pods.map(({ metadata }) => metadata?.uid ?? '').toSorted();
const seen = async (ref: JobRef) => {
  const view = await readJob(kube, ref, taint);
  if (!view) throw new Error(`${ref.name} is gone`);
  return view;
};

async function suspend(ref: JobRef): Promise<void> {
  await eventually(
    async () =>
      suspendJob(kube, { job: ref, incident, attempt: 1, resourceVersion: (await seen(ref)).resourceVersion }).then(
        () => true,
        () => false,
      ),
    (done) => done,
  );
}

const gone = (ref: JobRef) =>
  eventually(
    () => podsOfJob(kube, ref),
    ({ present, leaving }) => present.length + leaving.length === 0,
  );

describe.each(kinds)('%s', (kind) => {
  it('has the pods that its selector finds, is stopped, stays without pods, and comes back whole, again and again', async () => {
    const { job, ref, first } = await runningJob(kind, { terminationSeconds: 1, exitOnTerm: 143 });
    expect(first).toHaveLength(3);
    expect(uidsOf(await listMatchingPods(kube, ref))).toEqual(uidsOf(first));
    expect(await seen(ref)).toMatchObject({ optedIn: true, podsExpected: 3, canStopBy: ['suspend'] });
    const known = new Set(uidsOf(first));
    for (let round = 0; round < 2; round++) {
      await suspend(ref);
      await gone(ref);
      expect(await seen(ref)).toMatchObject({ suspension: { by: 'kcover', incident, attempt: 1 }, podsExpected: 3 });
      // Time for a controller to create what it should not.
      await new Promise((resolve) => setTimeout(resolve, 2000));
      expect(await podsOf(api, job)).toEqual([]);
      expect(await resumeJob(kube, ref, incident)).toBe(true);
      const next = await awaitRunning(api, job, { withinMs: 120_000, except: known });
      expect(next).toHaveLength(3);
      for (const uid of uidsOf(next)) known.add(uid);
      expect((await seen(ref)).finished).toBeUndefined();
    }
  });

  it('is the job that each of its pods leads to', async () => {
    const { ref, first } = await runningJob(kind);
    const found = await Promise.all(jobsOfPods(first).map((made) => topJob(kube, made)));
    expect(new Set(found.map(({ uid }) => uid))).toEqual(new Set([ref.uid]));
    expect(found.map((each) => each.kind)).toEqual(found.map(() => kind));
  });
});

it('a LeaderWorkerSet creates its whole group anew when one pod is deleted: its own answer, before kcover can stop it', async () => {
  const { job, ref, first } = await runningJob('LeaderWorkerSet', { terminationSeconds: 1 });
  const worker = first.find((pod) => jobKinds.LeaderWorkerSet.roleOf(pod.metadata?.labels ?? {})?.role === 'worker');
  await deletePod(kube, ref.namespace, { name: worker?.metadata?.name ?? '', uid: worker?.metadata?.uid ?? '' });
  expect(await awaitRunning(api, job, { withinMs: 120_000, except: new Set(uidsOf(first)) })).toHaveLength(3);
});

it('an MPIJob succeeds with its launcher, whatever its workers do', async () => {
  const { ref, first } = await runningJob('MPIJobV2beta1');
  const launcher = first.find((pod) => jobKinds.MPIJobV2beta1.roleOf(pod.metadata?.labels ?? {})?.role === 'launcher');
  if (!launcher) throw new Error('no launcher');
  await succeed(api, launcher);
  await eventually(
    async () => (await seen(ref)).finished?.as,
    (end) => end === 'succeeded',
  );
});
