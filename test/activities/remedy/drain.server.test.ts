import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { labels } from '../../../contract/ids.ts';
import type { DrainRequest, DrainResult } from '../../../contract/remedy/remedy.ts';
import { evictPod } from '../../../kube/pods/evict.ts';
import { askKube, patchObject } from '../../../kube/client/requests.ts';
import { hookNamespace } from '../../../kube/permissions.ts';
import { batchJob } from '../../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../../testbed/jobs.ts';
import { eventually } from '../../support/rig.ts';
import { remedyRig, type RemedyRig } from './remedy-rig.ts';

const namespace = `drain-${randomUUID().slice(0, 8)}`;
let rig: RemedyRig;
beforeAll(async () => {
  rig = await remedyRig({});
  await rig.cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
});
afterAll(async () => {
  for (const where of [namespace, hookNamespace])
    await rig.cluster.api.core.deleteCollectionNamespacedPod({ namespace: where, gracePeriodSeconds: 0 });
  await rig.close();
});

/** A node of its own for each test, which pods name in their spec, without what other tests left there. */
let next = 0;
async function node(): Promise<RemedyRig['nodes'][number]> {
  const found = rig.nodes[(next += 1)];
  if (!found) throw new Error('too few nodes');
  const { core } = rig.cluster.api;
  const { items } = await core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${found.name}` });
  for (const { metadata } of items)
    await core
      .deleteNamespacedPod({ name: metadata?.name ?? '', namespace: metadata?.namespace ?? '', gracePeriodSeconds: 0 })
      .catch(() => undefined);
  return found;
}
const request = ({ name, uid }: { name: string; uid: string }, timeoutMs = 30_000): DrainRequest => ({
  node: name,
  uid,
  timeoutMs,
});

interface PodOptions {
  readonly on: { readonly name: string };
  readonly app?: string;
  readonly metadata?: V1Pod['metadata'];
  readonly where?: string;
}

async function pod({ on, app = 'web', metadata, where = namespace }: PodOptions): Promise<V1Pod> {
  const name = `p-${randomUUID().slice(0, 8)}`;
  await rig.cluster.api.core.createNamespacedPod({
    namespace: where,
    body: {
      metadata: { name, labels: { app }, ...metadata },
      spec: {
        nodeName: on.name,
        serviceAccountName: 'default',
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'x' }],
      },
    },
  });
  return eventually(
    () => rig.cluster.api.core.readNamespacedPod({ name, namespace: where }),
    ({ status }) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
  );
}
const titleOf = ({ metadata }: V1Pod) => `${metadata?.namespace}/${metadata?.name}`;

async function budget(name: string, app: string, minAvailable: number): Promise<void> {
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
  const text = JSON.stringify({ metadata: { name }, spec: { minAvailable, selector: { matchLabels: { app } } } });
  await askKube(rig.admin, { method: 'POST', path, body: { contentType: 'application/json', text } }, 'create');
  await eventually(
    () =>
      askKube<{ status?: { currentHealthy?: number } }>(rig.admin, { method: 'GET', path: `${path}/${name}` }, 'read'),
    ({ status }) => (status?.currentHealthy ?? 0) > 0,
  );
}

const exists = async ({ metadata }: V1Pod): Promise<boolean> => {
  const { items } = await rig.cluster.api.core.listNamespacedPod({ namespace: metadata?.namespace ?? '' });
  return items.some((each) => each.metadata?.uid === metadata?.uid && each.metadata?.deletionTimestamp === undefined);
};

describe('a drain', () => {
  it('evicts other workloads, waits until they are gone, and leaves the pods of hooks', async () => {
    const on = await node();
    const evicted = await Promise.all([pod({ on }), pod({ on })]);
    const ofHook = await pod({ on, where: hookNamespace, metadata: { labels: { 'kcover.io/operation': 'op-x' } } });
    const result = await rig.cluster.run('drainNode', request(on));
    expect(result).toEqual({ outcome: 'drained', because: '2 pods were evicted', evicted: 2, remaining: [] });
    expect(await Promise.all([...evicted, ofHook].map(exists))).toEqual([false, false, true]);
  });

  it('leaves the pods of a job that opted in, and evicts those of one that did not', async () => {
    const jobs = await Promise.all(
      [{ [labels.cascadingRecovery]: 'true' }, {}].map((given) =>
        createJob(
          rig.cluster.api,
          batchJob({
            name: `drain-${randomUUID().slice(0, 8)}`,
            pods: 1,
            gpus: 0,
            terminationSeconds: 1,
            labels: given,
          }),
        ),
      ),
    );
    const [ours, theirs] = await Promise.all(
      jobs.map(async (job) => {
        await awaitRunning(rig.cluster.api, job);
        const { items } = await rig.cluster.api.core.listNamespacedPod({
          namespace: job.namespace,
          labelSelector: `batch.kubernetes.io/job-name=${job.name}`,
        });
        return items[0] ?? {};
      }),
    );
    for (const its of [ours, theirs]) {
      const on = rig.nodes.find(({ name }) => name === its?.spec?.nodeName);
      if (!on || !its) throw new Error('it does not run');
      await rig.cluster.run('drainNode', request(on, 10_000));
    }
    expect(await exists(ours ?? {})).toBe(true);
    expect(await exists(theirs ?? {})).toBe(false);
    await rig.cluster.api.batch.deleteCollectionNamespacedJob({
      namespace: jobs[0]?.namespace ?? '',
      propagationPolicy: 'Background',
    });
  });

  it('waits for a disruption budget, names it when the time is over, and goes on when it allows', async () => {
    const [on, elsewhere] = [await node(), await node()];
    const web = await pod({ on, app: 'guarded' });
    await budget('guard', 'guarded', 1);
    const result = await rig.cluster.run('drainNode', request(on, 7000));
    expect(result).toEqual({
      outcome: 'blocked',
      because: expect.stringMatching(
        new RegExp(
          `^after 7s these pods remain: ${titleOf(web)} \\(The disruption budget guard needs 1 healthy pods and has 1 currently`,
        ),
      ),
      evicted: 0,
      remaining: [titleOf(web)],
    });
    const again = rig.cluster.run('drainNode', request(on, 40_000));
    await pod({ on: elsewhere, app: 'guarded' });
    expect(await again).toMatchObject({ outcome: 'drained', evicted: 1 });
  });

  it('does not wait for a pod that two budgets select, and names it', async () => {
    const on = await node();
    const web = await pod({ on, app: 'twice' });
    await budget('one', 'twice', 1);
    await budget('two', 'twice', 1);
    expect(await rig.cluster.run('drainNode', request(on, 600_000))).toEqual({
      outcome: 'blocked',
      because: `these pods remain: ${titleOf(web)} (more than one PodDisruptionBudget selects it)`,
      evicted: 0,
      remaining: [titleOf(web)],
    });
    expect(await exists(web)).toBe(true);
  });

  it('says which pods do not end', async () => {
    const on = await node();
    const kept = await pod({ on, app: 'kept', metadata: { finalizers: ['example.org/kept'] } });
    const path = `/api/v1/namespaces/${namespace}/pods/${kept.metadata?.name}`;
    expect(await rig.cluster.run('drainNode', request(on, 4000))).toMatchObject({
      outcome: 'blocked',
      because: expect.stringContaining(`${titleOf(kept)} (it is terminating)`),
      evicted: 1,
    });
    await patchObject(rig.admin, path, { metadata: { finalizers: null } }, 'let it go');
  });

  it('counts what an earlier try has evicted, and evicts nothing twice', async () => {
    const on = await node();
    const kept = await pod({ on, app: 'kept', metadata: { finalizers: ['example.org/kept'] } });
    const path = `/api/v1/namespaces/${namespace}/pods/${kept.metadata?.name}`;
    const id = `drain-${randomUUID()}`;
    await rig.cluster.client.activity.start<DrainResult>('drainNode', {
      id,
      taskQueue: rig.cluster.taskQueue,
      args: [request(on, 60_000)],
      startToCloseTimeout: '120s',
      heartbeatTimeout: '10s',
      retry: { initialInterval: '200ms' },
    });
    await eventually(
      () => exists(kept),
      (is) => !is,
    );
    await rig.replaceWorker();
    await patchObject(rig.admin, path, { metadata: { finalizers: null } }, 'let it go');
    expect(await rig.cluster.client.activity.getHandle<DrainResult>(id).result()).toMatchObject({
      outcome: 'drained',
      evicted: 1,
    });
  });

  it('ends when the node is another one', async () => {
    const { name } = await node();
    expect(await rig.cluster.run('drainNode', request({ name, uid: 'another' }))).toMatchObject({ outcome: 'gone' });
  });
});

describe('a worker that repairs no nodes', () => {
  it('neither evicts nor runs a hook, whichever workflow asks', async () => {
    const idle = await remedyRig({ echo: { kind: 'command', command: ['/bin/echo'] } }, { mode: 'off' });
    try {
      const because = 'remediation.mode is off';
      expect(await idle.cluster.run('drainNode', request(await node()))).toMatchObject({ outcome: 'blocked', because });
      expect(await idle.cluster.run('runHook', idle.request('echo'))).toEqual({ verdict: 'failed', because });
    } finally {
      await idle.cluster.close();
      await idle.admin.close();
    }
  });
});

describe('an eviction', () => {
  it('of another UID evicts nothing', async () => {
    const its = await pod({ on: await node() });
    const { name = '' } = its.metadata ?? {};
    expect(await evictPod(rig.cluster.kube, { namespace, name, uid: randomUUID() })).toEqual({ kind: 'gone' });
    expect(await exists(its)).toBe(true);
    expect(await evictPod(rig.cluster.kube, { namespace, name: 'none', uid: randomUUID() })).toEqual({ kind: 'gone' });
  });
});
