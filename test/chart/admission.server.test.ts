/** Writes that the chart's admission policies accept or reject. All other server tests run under these policies too. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Taint } from '@kubernetes/client-node';
import { annotations, labels, leaderLabel } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import { connectKube, type Kube, openRequest } from '../../kube/client/connection.ts';
import { jobKinds, jobPath } from '../../kube/jobs/kinds/index.ts';
import { resizeJob } from '../../kube/jobs/size.ts';
import {
  annotateJob,
  readJobObject,
  removeRecoveryLabel,
  resumeJob,
  suspendJob,
  writeProgress,
} from '../../kube/jobs/jobs.ts';
import { leaderLabels } from '../../kube/pods/leader-label.ts';
import { editNode } from '../../kube/nodes/nodes.ts';
import { agentNamespace, ownNamespace } from '../../kube/permissions.ts';
import { deletePod } from '../../kube/pods/pods.ts';
import { patchObject } from '../../kube/client/requests.ts';
import { quarantineEdit, releaseEdit } from '../../kube/nodes/quarantine.ts';
import { standbyEdit } from '../../kube/nodes/standby.ts';
import { agentAccount } from '../../testbed/agents.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { createControllerPods } from '../../testbed/intake-service.ts';
import { createJob } from '../../testbed/jobs.ts';
import { kindsHere as kinds, manifestOf } from '../../testbed/set-manifests.ts';
import { eventually } from '../support/rig.ts';

const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
const id = randomUUID().slice(0, 8);
const namespace = `admission-${id}`;
const node = `admission-${id}`;
const leader = `kcover-controller-${id}`;
const incident = 'recovery/x/y/1/2026-11-21T07:09:03.117Z';
const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const foreign = { key: 'example.com/reserved', effect: 'NoSchedule' };
const standbyTaint = { key: 'kcover.io/spare', effect: 'NoSchedule' };

let admin: Kube;
let accounts: Readonly<Record<'controller' | 'worker', Kube>>;
const jobs = new Map<string, JobRef>();

beforeAll(async () => {
  const as = async (role: string) =>
    connectKube({
      kubeconfig: await cluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name: `kcover-${role}` }),
    });
  admin = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig });
  accounts = { controller: await as('controller'), worker: await as('worker') };
  const { core } = cluster.api;
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  await core.createNode({
    body: { metadata: { name: node, labels: { zone: 'a' } }, spec: { taints: [foreign, standbyTaint] } },
  });
  await createControllerPods(cluster.api, [leader]);
  for (const kind of kinds) {
    const manifest = manifestOf(kind, {
      name: kind.toLowerCase(),
      namespace,
      gpus: 0,
      suspend: false,
      labels: { [labels.needRecovery]: 'true' },
      // Their pods are never scheduled.
      nodeSelector: { nowhere: id },
    });
    jobs.set(kind, await createJob(cluster.api, manifest));
  }
});
afterAll(async () => {
  const { core } = cluster.api;
  await core.deleteNamespace({ name: namespace });
  await core.deleteNode({ name: node });
  await core.deleteNamespacedPod({ name: leader, namespace: ownNamespace, gracePeriodSeconds: 0 });
  await Promise.all([admin, ...Object.values(accounts)].map((kube) => kube.close()));
});

const jobOf = (kind: string): JobRef => {
  const job = jobs.get(kind);
  if (!job) throw new Error(`there is no ${kind}`);
  return job;
};

/** A dry-run write. */
async function tried(
  kube: Kube,
  method: 'PATCH' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<{ status: number; said: string }> {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const request = {
    method,
    path,
    query: { dryRun: 'All' },
    ...(body && { body: { contentType, text: JSON.stringify(body) } }),
  };
  const answer = await openRequest(kube, request);
  return { status: answer.status, said: await answer.text() };
}

const refusal = (said: string) => ({ status: 403, said: expect.stringContaining(said) });

describe.each(kinds)('a %s', (kind) => {
  it('is suspended, annotated and resumed by the worker, and gets its progress from the controller', async () => {
    const job = jobOf(kind);
    const { worker, controller } = accounts;
    await eventually(
      async () => {
        const resourceVersion = (await readJobObject(worker, job))?.metadata?.resourceVersion ?? '';
        await suspendJob(worker, { job, incident, attempt: 1, resourceVersion });
        return true;
      },
      (done) => done,
    );
    await removeRecoveryLabel(worker, job);
    await annotateJob(worker, job, { [annotations.restartInProcess]: `${incident}#1`, [annotations.preflight]: '{}' });
    expect(
      await writeProgress(controller, job, {
        step: 7,
        checkpointStep: 5,
        at: '2026-11-21T07:09:03Z',
        phase: 'training',
      }),
    ).toBe(true);
    expect(await resumeJob(worker, job, incident)).toBe(true);
    const { metadata } = (await readJobObject(admin, job)) ?? {};
    expect(metadata?.annotations).toMatchObject({ [annotations.step]: '7', [annotations.preflight]: '{}' });
    expect(metadata?.labels ?? {}).not.toHaveProperty([labels.needRecovery]);
  });

  it('keeps every other field', async () => {
    const path = jobPath(jobOf(kind));
    const { worker, controller } = accounts;
    const suspended = ['Job', 'JobSet', 'TrainJob'].includes(kind)
      ? { suspend: true }
      : { runPolicy: { suspend: true } };
    const other =
      kind === 'Job'
        ? { backoffLimit: 7 }
        : { [`of-${id}`]: 'x', ...(kind.endsWith('Set') && { ttlSecondsAfterFinished: 7 }) };
    expect(await tried(controller, 'PATCH', path, { spec: suspended })).toEqual(
      refusal('the controller may not change this field of the spec'),
    );
    expect(
      await tried(controller, 'PATCH', path, { metadata: { annotations: { 'kcover.io/mode': 'force' } } }),
    ).toEqual(refusal('the controller may change no annotations but'));
    expect(await tried(controller, 'PATCH', path, { metadata: { labels: { [labels.needRecovery]: 'true' } } })).toEqual(
      refusal('the controller may change no labels'),
    );
    for (const name of [labels.needRecovery, labels.cascadingRecovery, 'team'])
      expect(await tried(worker, 'PATCH', path, { metadata: { labels: { [name]: 'true' } } })).toEqual(
        refusal('the worker may change no labels but'),
      );
    expect(await tried(worker, 'PATCH', path, { metadata: { annotations: { [annotations.step]: '9' } } })).toEqual(
      refusal('the worker may change no annotations but'),
    );
    expect(await tried(worker, 'PATCH', path, { metadata: { finalizers: ['example.com/held'] } })).toEqual(
      refusal('the worker may change neither owners nor finalizers'),
    );
    if (kind === 'Job')
      expect(await tried(worker, 'PATCH', path, { spec: other })).toEqual(
        refusal('the worker may not change this field of the spec'),
      );
  });
});

describe('a job of the training operator', () => {
  it.each<readonly [string, object]>([
    [
      'its image',
      {
        pytorchReplicaSpecs: { Worker: { template: { spec: { containers: [{ name: 'pytorch', image: 'other' }] } } } },
      },
    ],
    ['its account', { pytorchReplicaSpecs: { Worker: { template: { spec: { serviceAccountName: 'other' } } } } }],
    [
      'the labels of its pods',
      { pytorchReplicaSpecs: { Worker: { template: { metadata: { labels: { team: 'x' } } } } } },
    ],
    ['its restart policy', { pytorchReplicaSpecs: { Worker: { restartPolicy: 'Always' } } }],
    ['its roles', { pytorchReplicaSpecs: { Worker: null } }],
    ['how its pods are cleaned up', { runPolicy: { cleanPodPolicy: 'All' } }],
    ['its queue', { runPolicy: { schedulingPolicy: { queue: 'other' } } }],
    ['how many processes it has', { nprocPerNode: '4' }],
  ])('keeps %s', async (_, spec) => {
    expect(await tried(accounts.worker, 'PATCH', jobPath(jobOf('PyTorchJob')), { spec })).toEqual(
      refusal('the worker may not change this field of the spec'),
    );
  });
});

describe('a suspended job', () => {
  it.each(kinds.filter((kind) => jobKinds[kind].resizing))(
    'of kind %s is resized, and given a priority class where its pods may have one',
    async (kind) => {
      const job = jobOf(kind);
      // Its gang scheduler waits for all pods.
      if (kind !== 'Job')
        await patchObject(
          admin,
          jobPath(job),
          { spec: { runPolicy: { schedulingPolicy: { minAvailable: 3 } } } },
          'set minAvailable',
        );
      const resourceVersion = (await readJobObject(admin, job))?.metadata?.resourceVersion ?? '';
      await suspendJob(accounts.worker, { job, incident, attempt: 2, resourceVersion });
      const resized = await resizeJob(accounts.worker, {
        job,
        incident,
        pods: 2,
        priorityClass: 'system-node-critical',
      });
      expect(resized).toMatchObject({ kind: 'resized', before: 3, after: 2 });
    },
  );
});

describe('a node', () => {
  const path = `/api/v1/nodes/${node}`;
  const settings = { taint, cordon: true } as const;

  it('is quarantined with a cordon, released, and taken as a standby node', async () => {
    const uid = (await cluster.api.core.readNode({ name: node })).metadata?.uid ?? '';
    const { worker } = accounts;
    const request = { incident, reason: 'xid-79', because: 'it fell off the bus' };
    const out = await editNode(worker, node, uid, (found) => quarantineEdit(found, request, settings));
    expect(out.spec).toMatchObject({
      unschedulable: true,
      taints: expect.arrayContaining([{ ...taint, value: 'xid-79' }]),
    });
    await editNode(
      worker,
      node,
      uid,
      (found) => releaseEdit(found, { incident, judged: { bootId: 'a', sequence: 1 } }, settings).change,
    );
    const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
    const back = await editNode(
      worker,
      node,
      uid,
      (found) =>
        standbyEdit({ ...found, status: ready }, { incident, standbyTaint: standbyTaint.key, quarantine: taint })
          .change,
    );
    expect(back.spec?.taints?.map(({ key }) => key)).not.toContain(standbyTaint.key);
    expect(back.spec?.taints).toContainEqual(foreign);
    expect(back.spec?.unschedulable).toBeUndefined();
  });

  it.each<readonly [string, (taints: readonly V1Taint[]) => object, string]>([
    ['loses a taint of somebody else', () => ({ spec: { taints: [] } }), 'no taint but that of a quarantine'],
    [
      'gets one of another key',
      (taints) => ({ spec: { taints: [...taints, { key: 'other', effect: 'NoExecute' }] } }),
      'no taint but that of a quarantine',
    ],
    [
      'has all its pods evicted',
      (taints) => ({ spec: { taints: [...taints, { ...taint, effect: 'NoExecute' }] } }),
      'no taint but that of a quarantine',
    ],
    ['gets a standby taint', (taints) => ({ spec: { taints: [...taints, standbyTaint] } }), 'may add no standby taint'],
    ['gets a provider', () => ({ spec: { providerID: 'x://y' } }), 'may not change this field of the spec'],
    ['gets a label', () => ({ metadata: { labels: { 'nvidia.com/gpu.present': 'true' } } }), 'may change no labels'],
    ['loses a label', () => ({ metadata: { labels: { zone: null } } }), 'may change no labels'],
    [
      'gets an annotation',
      () => ({ metadata: { annotations: { 'example.com/x': 'y' } } }),
      'may change no annotations but',
    ],
  ])('never %s by the worker', async (_, patch, said) => {
    const { spec } = await cluster.api.core.readNode({ name: node });
    expect(await tried(accounts.worker, 'PATCH', path, patch(spec?.taints ?? []))).toEqual(refusal(said));
  });
});

describe('a pod of kcover', () => {
  const path = `/api/v1/namespaces/${ownNamespace}/pods/${leader}`;

  it('is labelled by the controller as the one that leads', async () => {
    const store = leaderLabels(accounts.controller, ownNamespace, 'kcover');
    expect(await store.label(leader)).toBe(true);
    expect(await store.labelled()).toContain(leader);
    await store.clear(leader);
    expect(await store.labelled()).not.toContain(leader);
  });

  it('keeps its image and its other labels', async () => {
    const image = {
      spec: {
        containers: [{ name: 'controller', image: 'other:1', ports: [{ name: 'intake', containerPort: 8443 }] }],
      },
    };
    expect(await tried(accounts.controller, 'PATCH', path, image)).toEqual(
      refusal('the controller may not change this field of the spec'),
    );
    expect(await tried(accounts.controller, 'PATCH', path, { metadata: { labels: { app: 'x' } } })).toEqual(
      refusal(`the controller may change no labels but ${leaderLabel.key}`),
    );
  });

  it('of an agent cannot be changed by the controller', async () => {
    const { items } = await cluster.api.core.listNamespacedPod({ namespace: agentNamespace });
    const agent = `/api/v1/namespaces/${agentNamespace}/pods/${items[0]?.metadata?.name}`;
    expect(items.length).toBeGreaterThan(0);
    expect(await tried(accounts.controller, 'PATCH', agent, { metadata: { labels: { app: 'x' } } })).toEqual(
      refusal('cannot patch resource'),
    );
  });
});

describe('a deletion by the worker', () => {
  it('may delete the pods of a job, and no others', async () => {
    const { core } = cluster.api;
    const container = { name: 'c', image: 'c' };
    const create = async (name: string, ownerReferences: object[] = []) => {
      const body = {
        metadata: { name, labels: { it: id }, ownerReferences: ownerReferences as never },
        spec: { nodeSelector: { nowhere: id }, containers: [container] },
      };
      const { metadata } = await core.createNamespacedPod({ namespace, body });
      return { name, uid: metadata?.uid ?? '' };
    };
    const { name, uid } = jobOf('PyTorchJob');
    const owned = await create('of-a-job', [
      { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name, uid, controller: true },
    ]);
    const alone = await create('alone');
    expect(await deletePod(accounts.worker, namespace, owned, { force: true })).toBe('deleted');
    await expect(deletePod(accounts.worker, namespace, alone)).rejects.toMatchObject({
      code: 'kube.forbidden',
      because: expect.stringContaining('the worker may delete only pods that a training job controls'),
    });
    const all = await openRequest(accounts.worker, {
      method: 'DELETE',
      path: `/api/v1/namespaces/${namespace}/pods`,
      query: { labelSelector: `it=${id}` },
    });
    expect(all.status).toBe(403);
    expect((await core.readNamespacedPod({ name: alone.name, namespace })).metadata?.deletionTimestamp).toBeUndefined();
  });
});

describe("kcover's directory on the nodes", () => {
  const mount = (where: string, path: string, account = 'default', containers: object = {}) =>
    tried(admin, 'POST', `/api/v1/namespaces/${where}/pods`, {
      metadata: { name: `mounts-${id}` },
      spec: {
        serviceAccountName: account,
        containers: [{ name: 'c', image: 'c' }],
        volumes: [{ name: 'files', hostPath: { path } }],
        ...containers,
      },
    });

  it.each([
    `/var/lib/kcover/progress/${namespace}`,
    `/var/lib/kcover/preflight/${namespace}/`,
    '/var/lib/other',
    '/var/lib/kcovers',
    '/var/log',
    '/',
  ])('may be mounted by a pod as %s', async (path) => {
    expect(await mount(namespace, path)).toMatchObject({ status: 201 });
  });

  it.each([
    '/var/lib/kcover',
    '/var/lib/kcover/',
    '/var/lib//kcover',
    '/var/./lib/kcover/.',
    '/var/lib/kcover/agent',
    '/var/lib/kcover/preflight',
    '/var/lib/kcover/progress/other',
    `/var/lib/kcover/progress/${namespace}-2`,
    `/var/lib/kcover/progress/${namespace}/link`,
    `/var/lib/kcover/agent/${namespace}`,
  ])('is refused to a pod that mounts %s', async (path) => {
    expect(await mount(namespace, path)).toEqual(refusal("of kcover's directory on the nodes a pod may mount"));
  });

  it('shows the status of the node to every pod that mounts it read-only in all its containers', async () => {
    const status = '/var/lib/kcover/status';
    const mounting = (readOnly: boolean) => [
      { name: `c-${readOnly}`, image: 'c', volumeMounts: [{ name: 'files', mountPath: '/status', readOnly }] },
    ];
    const trying = (containers: object, path = status) => mount(namespace, path, 'default', containers);
    const readers = mounting(true);
    const writers = mounting(false);
    expect(
      await trying({ containers: readers, initContainers: mounting(true).map((c) => ({ ...c, name: 'i' })) }),
    ).toMatchObject({ status: 201 });
    const refused = refusal('a pod may mount the status of its node only with readOnly');
    expect(await trying({ containers: writers })).toEqual(refused);
    expect(await trying({ containers: [...readers, ...writers] })).toEqual(refused);
    expect(await trying({ containers: readers, initContainers: writers })).toEqual(refused);
    expect(await trying({ containers: writers }, '/var//lib/kcover/./status/')).toEqual(refused);
    expect(await trying({ containers: readers }, `${status}/node.json`)).toMatchObject({ status: 403 });
  });

  it('cannot be reached by a path with .. either', async () => {
    expect(await mount(namespace, `/var/lib/kcover/progress/${namespace}/../../agent`)).toMatchObject({ status: 422 });
  });

  it('is open to the agents only', async () => {
    expect(await mount(agentNamespace, '/var/lib/kcover', agentAccount)).toMatchObject({ status: 201 });
    expect(await mount(agentNamespace, '/var/lib/kcover')).toMatchObject({ status: 403 });
    expect(await mount(namespace, '/var/lib/kcover', agentAccount)).toMatchObject({ status: 403 });
  });
});
