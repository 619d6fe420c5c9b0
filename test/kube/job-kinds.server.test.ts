/** What the registry says of every kind whose controller runs here, held against the controllers themselves. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import { jobKinds as every, type JobRef } from '../../contract/jobs.ts';
import { connectKube, type Kube } from '../../kube/connection.ts';
import { jobKinds, jobPath } from '../../kube/job-kinds/index.ts';
import { readJob, resumeJob, suspendJob } from '../../kube/jobs.ts';
import { deleteMatchingPods, listMatchingPods, podsOfJob, podsPath } from '../../kube/pods.ts';
import { askKube, patchObject } from '../../kube/requests.ts';
import { connect, type Api } from '../../testbed/api.ts';
import { succeed } from '../../testbed/failures.ts';
import {
  batchJob,
  kubeflowKinds,
  type JobManifest,
  type JobOptions,
  kubeflowJob,
  type KubeflowJobOptions,
  type KubeflowKind,
} from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, type RunningJob } from '../../testbed/jobs.ts';
import { eventually, testServers, type TestServers } from '../support/rig.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';

type RunningKind = KubeflowKind | 'Job';
const kinds = every.filter((kind): kind is RunningKind => kind === 'Job' || kubeflowKinds.includes(kind));

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

type Options = Omit<JobOptions, 'name'> & Pick<KubeflowJobOptions, 'restartPolicy' | 'roles'>;

function manifestOf(kind: RunningKind, { restartPolicy, roles, ...more }: Options = {}): JobManifest {
  const common = { name: `kind-${randomUUID().slice(0, 8)}`, gpus: 0, labels: { [labels.cascadingRecovery]: 'true' }, ...more };
  if (kind === 'Job') return batchJob({ ...common, pods: 2 });
  return kubeflowJob(kind, { ...common, ...(roles && { roles }), ...(restartPolicy && { restartPolicy }) });
}

async function runningJob(kind: RunningKind, options?: Options): Promise<{ job: RunningJob; ref: JobRef; first: V1Pod[] }> {
  const job = await createJob(api, manifestOf(kind, options));
  const ref = { kind, namespace: job.namespace, name: job.name, uid: job.uid };
  created.push(ref);
  return { job, ref, first: await awaitRunning(api, job) };
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

describe.each(kinds)('%s', (kind) => {
  it('has the pods that its selector finds, is stopped by suspend and comes back whole, and succeeds with the pod that decides', async () => {
    const entry = jobKinds[kind];
    const { job, ref, first } = await runningJob(kind, { terminationSeconds: 1, exitOnTerm: 143 });
    expect(uidsOf(await listMatchingPods(kube, ref))).toEqual(uidsOf(first));
    expect(await seen(ref)).toMatchObject({ optedIn: true, podsExpected: first.length, canStopBy: expect.arrayContaining(['suspend']) });

    await suspend(ref);
    await eventually(
      () => podsOfJob(kube, ref),
      ({ present, leaving }) => present.length + leaving.length === 0,
    );
    expect(await seen(ref)).toMatchObject({ suspension: { by: 'kcover', incident, attempt: 1 } });
    expect(await resumeJob(kube, ref, incident)).toBe(true);
    const next = await awaitRunning(api, job);
    expect(next).toHaveLength(first.length);

    const { items } = await api.core.listNamespacedPod({ namespace: ref.namespace, labelSelector: entry.podsOfKind });
    expect(uidsOf(items)).toEqual(expect.arrayContaining(uidsOf(next)));
    const decides = entry.succeedsWith({ ...(manifestOf(kind) as object) });
    const deciding = next.filter((pod) => decides === undefined || entry.roleOf(pod.metadata?.labels ?? {})?.role === decides.role);
    expect((await seen(ref)).finished).toBeUndefined();
    for (const pod of deciding) await succeed(api, pod);
    await eventually(
      async () => (await seen(ref)).finished?.as,
      (end) => end === 'succeeded',
    );
  });
});

/** The pods can be seen after their end until they are let go, however slow their controller looks. */
async function keep(pods: readonly V1Pod[]): Promise<{ letGo: () => Promise<void> }> {
  const patch = (finalizers: readonly string[] | null) =>
    Promise.all(
      pods.map(({ metadata }) => patchObject(kube, `${podsPath(metadata?.namespace ?? '')}/${metadata?.name}`, { metadata: { finalizers } }, 'keep')),
    );
  await patch(['testbed.kcover.io/kept']);
  return { letGo: async () => void (await patch(null)) };
}

describe('a job whose pods are deleted', () => {
  it.each<[string, RunningKind, Options, 'runs again' | 'failed']>([
    ['PyTorchJob with OnFailure', 'PyTorchJob', { restartPolicy: 'OnFailure' }, 'runs again'],
    ['PaddleJob with Always', 'PaddleJob', { restartPolicy: 'Always' }, 'runs again'],
    ['PyTorchJob with Never', 'PyTorchJob', { restartPolicy: 'Never' }, 'failed'],
    ['PyTorchJob with ExitCode and a code below 128', 'PyTorchJob', { restartPolicy: 'ExitCode', exitOnTerm: 1 }, 'failed'],
    ['TFJob with OnFailure', 'TFJob', { restartPolicy: 'OnFailure' }, 'failed'],
    ['MPIJob with OnFailure', 'MPIJob', { restartPolicy: 'OnFailure' }, 'failed'],
    ['XGBoostJob with OnFailure', 'XGBoostJob', { restartPolicy: 'OnFailure' }, 'failed'],
    ['batch Job', 'Job', {}, 'failed'],
  ])('%s', async (_sentence, kind, options, expected) => {
    const fails = expected === 'failed';
    const { job, ref, first } = await runningJob(kind, { terminationSeconds: fails ? 3 : 1, exitOnTerm: 143, ...options });
    expect((await seen(ref)).canStopBy.includes('delete-collection')).toBe(!fails);
    // The controller of batch Jobs keeps them itself.
    const lasting = await keep(fails && kind !== 'Job' ? first : []);
    await deleteMatchingPods(kube, ref);
    if (!fails) await awaitRunning(api, job, { except: new Set(uidsOf(first)) });
    await eventually(
      async () => (await seen(ref)).finished?.as,
      (end) => end === (fails ? 'failed' : undefined),
    );
    await lasting.letGo();
  });

  it('has succeeded when the pod that decides is told to go and ends with 0: suspend knows no such end', async () => {
    const { ref, first } = await runningJob('PyTorchJob', { terminationSeconds: 20 });
    const master = first.find((pod) => jobKinds.PyTorchJob.roleOf(pod.metadata?.labels ?? {})?.role === 'master');
    if (!master) throw new Error('no master');
    const lasting = await keep([master]);
    await deleteMatchingPods(kube, ref);
    await succeed(api, master);
    await eventually(
      async () => (await seen(ref)).finished?.as,
      (end) => end === 'succeeded',
    );
    await lasting.letGo();
  });
});
