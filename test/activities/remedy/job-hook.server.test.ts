import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Job, V1Pod } from '@kubernetes/client-node';
import type { HookRequest } from '../../../contract/remedy/remedy.ts';
import { askKube, listObjects, readObject } from '../../../kube/client/requests.ts';
import { hookJob } from '../../../kube/hooks/hook-job.ts';
import { readJobTemplate } from '../../../kube/hooks/template.ts';
import { hookNamespace } from '../../../kube/permissions.ts';
import { strategicMerge } from '../../../testbed/api.ts';
import { eventually } from '../../support/rig.ts';
import { remedyRig, type RemedyRig, templateFile } from './remedy-rig.ts';

const template = (pod: object = {}) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  spec: { template: { spec: { containers: [{ name: 'reset', image: 'example.org/tools:1' }], ...pod } } },
});
const gpus = (count: number) => ({
  containers: [{ name: 'reset', image: 'x', resources: { limits: { 'nvidia.com/gpu': count } } }],
});

let rig: RemedyRig;
beforeAll(async () => {
  rig = await remedyRig({
    reset: { kind: 'job', template: templateFile(template()) },
    huge: { kind: 'job', template: templateFile(template(gpus(1000))) },
    wrong: {
      kind: 'job',
      template: templateFile(template({ containers: [{ name: 'x', image: 'x', imagePullPolicy: 'Maybe' }] })),
    },
    forbidden: { kind: 'job', template: '/nowhere/reset.yaml' },
  });
});
afterAll(async () => {
  await rig.cluster.api.batch.deleteCollectionNamespacedJob({
    namespace: hookNamespace,
    propagationPolicy: 'Background',
  });
  await rig.close();
});

const jobPath = ({ operation }: HookRequest) => `/apis/batch/v1/namespaces/${hookNamespace}/jobs/${operation}`;
const jobOf = (request: HookRequest) => readObject<V1Job>(rig.admin, jobPath(request), 'read');
const podsOf = ({ operation }: HookRequest) =>
  listObjects<V1Pod>(
    rig.admin,
    `/api/v1/namespaces/${hookNamespace}/pods`,
    { labelSelector: `kcover.io/operation=${operation}` },
    'list',
  );

/** The pod of the Job once it runs. */
async function running(request: HookRequest): Promise<V1Pod> {
  const pods = await eventually(
    () => podsOf(request),
    ([pod]) => pod?.status?.phase === 'Running',
  );
  return pods[0] ?? {};
}

/** The pod's container ends, as its kubelet reports it. */
async function end(request: HookRequest, exitCode: number, message = ''): Promise<void> {
  const { metadata, status } = await running(request);
  const containerStatuses = status?.containerStatuses?.map((each) => ({
    ...each,
    ready: false,
    state: {
      terminated: { exitCode, message, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: new Date() },
    },
  }));
  const body = { status: { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses } };
  await rig.cluster.api.core.patchNamespacedPodStatus(
    { name: metadata?.name ?? '', namespace: hookNamespace, body },
    strategicMerge,
  );
}

describe('a hook that is a Job', () => {
  it('runs on its node, which is quarantined, and its termination message says how it went', async () => {
    const request = rig.request('reset');
    const body = { spec: { taints: [{ key: 'kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' }] } };
    await rig.cluster.api.core.patchNode({ name: request.node, body }, strategicMerge);
    const result = rig.cluster.run('runHook', request);
    const pod = await running(request);
    expect(pod.spec?.nodeName).toBe(request.node);
    await end(request, 0, JSON.stringify({ verdict: 'passed', because: 'GPU 3 was reset' }));
    expect(await result).toEqual({
      verdict: 'passed',
      because: 'GPU 3 was reset',
      reference: `Job ${hookNamespace}/${request.operation}`,
    });
    await rig.cluster.api.core.patchNode({ name: request.node, body: { spec: { taints: null } } }, strategicMerge);
  });

  it.each([
    [1, 'no such GPU', 'failed', 'it ended with exit code 1: no such GPU'],
    [2, '', 'unknown', 'it ended with exit code 2'],
    [0, JSON.stringify({ node: 'gpu-other' }), 'failed', expect.stringContaining('it answers for node gpu-other')],
    [0, `{"verdict": "failed", "because": "${'x'.repeat(4080)}"`, 'passed', expect.stringContaining('exit code 0')],
  ])('ends with exit code %i and %.20j: %s', async (exitCode, message, verdict, because) => {
    const request = rig.request('reset');
    const result = rig.cluster.run('runHook', request);
    await end(request, exitCode, message);
    expect(await result).toMatchObject({ verdict, because });
  });

  it('is looked at, and not created again, by a later try', async () => {
    const request = rig.request('reset');
    const started = await rig.start(request);
    await running(request);
    const before = await jobOf(request);
    await rig.replaceWorker();
    await end(request, 0);
    expect(await started().result()).toMatchObject({ verdict: 'passed' });
    expect((await started().describe()).attempt).toBeGreaterThan(1);
    expect((await jobOf(request))?.metadata?.uid).toBe(before?.metadata?.uid);
    expect(await podsOf(request)).toHaveLength(1);
  });

  it('that was deleted is unknown, and is not created again', async () => {
    const request = rig.request('reset');
    const result = rig.cluster.run('runHook', request);
    await running(request);
    const body = { contentType: 'application/json', text: JSON.stringify({ propagationPolicy: 'Background' }) };
    await askKube(rig.admin, { method: 'DELETE', path: jobPath(request), body }, 'delete');
    expect(await result).toMatchObject({ verdict: 'unknown', because: 'it was deleted before its end was seen' });
    expect(await jobOf(request)).toBeUndefined();
  });

  it('leaves a Job of the same name alone that it did not make', async () => {
    const request = rig.request('reset');
    const text = JSON.stringify({
      metadata: { name: request.operation },
      spec: {
        suspend: true,
        template: template().spec.template && { spec: { ...template().spec.template.spec, restartPolicy: 'Never' } },
      },
    });
    const path = `/apis/batch/v1/namespaces/${hookNamespace}/jobs`;
    await askKube(rig.admin, { method: 'POST', path, body: { contentType: 'application/json', text } }, 'create');
    expect(await rig.cluster.run('runHook', request)).toMatchObject({
      verdict: 'failed',
      because: expect.stringContaining('which kcover did not make'),
    });
  });

  it('whose pod never starts has failed, and says why', async () => {
    const request = rig.request('huge', { timeoutMs: 15_000 });
    expect(await rig.cluster.run('runHook', request)).toMatchObject({
      verdict: 'failed',
      because: expect.stringMatching(/^its pod never started: Unschedulable: .*Insufficient nvidia.com\/gpu/),
    });
  });

  it.each([
    ['wrong', /^it could not be created: .*imagePullPolicy/],
    ['forbidden', /^it was not begun: .*\/nowhere\/reset.yaml cannot be read/],
    ['none', /^remediation.hooks has no none$/],
  ])('that cannot be begun has failed: %s', async (hook, because) => {
    const request = rig.request(hook);
    expect(await rig.cluster.run('runHook', request)).toMatchObject({
      verdict: 'failed',
      because: expect.stringMatching(because),
    });
    expect(await jobOf(request)).toBeUndefined();
  });

  it('does nothing to another machine of the same name', async () => {
    const request = rig.request('reset', { uid: 'another' });
    expect(await rig.cluster.run('runHook', request)).toEqual({
      verdict: 'failed',
      because: `node ${request.node} was replaced`,
    });
    expect(await jobOf(request)).toBeUndefined();
  });

  it('is left running when its activity is cancelled', async () => {
    const request = rig.request('reset');
    const started = await rig.start(request);
    await running(request);
    await started().cancel('the node was released');
    await expect(started().result()).resolves.toMatchObject({
      verdict: 'unknown',
      because: `cancelled before its end was seen; Job ${hookNamespace}/${request.operation} is left as it is`,
    });
    expect((await jobOf(request))?.metadata?.deletionTimestamp).toBeUndefined();
  });
});

describe('the examples of Jobs', () => {
  it.each(['device-plugin', 'gpu-reset', 'reboot', 'dcgm', 'nccl'])(
    'are accepted by the API server: %s',
    async (name) => {
      const file = join(import.meta.dirname, '..', '..', '..', 'examples', 'remediation', `${name}.yaml`);
      const options = { namespace: hookNamespace, taintKey: 'kcover.io/quarantine', leftMs: 600_000 };
      const job = hookJob(await readJobTemplate(file), rig.request('reset'), options);
      const request = {
        method: 'POST',
        path: `/apis/batch/v1/namespaces/${hookNamespace}/jobs`,
        query: { dryRun: 'All', fieldValidation: 'Strict' },
        body: { contentType: 'application/json', text: JSON.stringify(job) },
      } as const;
      expect(await askKube(rig.cluster.kube, request, 'create')).toMatchObject({ spec: { backoffLimit: 0 } });
    },
  );
});

describe('the worker', () => {
  it('may create Jobs in the namespace of hooks, and in no other', async () => {
    const create = (namespace: string) =>
      askKube(
        rig.cluster.kube,
        {
          method: 'POST',
          path: `/apis/batch/v1/namespaces/${namespace}/jobs`,
          query: { dryRun: 'All' },
          body: {
            contentType: 'application/json',
            text: JSON.stringify({
              metadata: { name: 'x' },
              spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'x', image: 'x' }] } } },
            }),
          },
        },
        'create',
      );
    await expect(create(hookNamespace)).resolves.toMatchObject({ metadata: { name: 'x' } });
    await expect(create('default')).rejects.toMatchObject({ code: 'kube.forbidden' });
  });
});
