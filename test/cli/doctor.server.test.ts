import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { clusterWorkflowId, searchAttributes, workflowTypes } from '../../contract/ids.ts';
import type { Finding } from '../../cli/doctor/finding.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { clusterRoles, roles } from '../../kube/rbac.ts';
import { type AttachedTestCluster, attachTestCluster } from '../../testbed/attach.ts';
import { eventually } from '../support/rig.ts';
import { kcover } from './kcover.ts';
import { answerOf, serverEnvironment } from './live.ts';

let cluster: AttachedTestCluster;
let temporal: Client;
/** A Temporal namespace without registered search attributes. */
const namespace = `doctor-${randomUUID().slice(0, 8)}`;
const stranger = { namespace: 'default', name: `nobody-${randomUUID().slice(0, 8)}` };

/** The findings before anything was fixed. */
let first: Awaited<ReturnType<typeof examine>>;

async function examine(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const { code, data } = await answerOf<Finding[]>(
    ['doctor', ...args],
    serverEnvironment({ TEMPORAL_NAMESPACE: namespace, ...more }),
  );
  return { code, of: Object.fromEntries(data.map((finding) => [finding.check, finding])), all: data };
}

beforeAll(async () => {
  cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const connection = await Connection.connect({ address: cluster.temporal.address });
  temporal = new Client({ connection, namespace });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  await install();
  // The services of the server learn of a new namespace one after the other.
  first = await eventually(
    () => examine([]),
    ({ of }) =>
      of['clock of temporal']?.result === 'ok' && of['search attributes']?.because.includes('not registered') === true,
    60_000,
  );
});

afterAll(async () => {
  await temporal?.workflow
    .getHandle(clusterWorkflowId)
    .terminate('the test is over')
    .catch(() => undefined);
  await temporal?.connection.close();
});

/** Accounts and rights of an installation; other tests may have created them already. */
async function install(): Promise<void> {
  const { core, rbac } = cluster.api;
  await unlessThere(core.createNamespace({ body: { metadata: { name: ownNamespace } } }));
  for (const name of ['kcover-controller', 'kcover-worker'])
    await unlessThere(core.createNamespacedServiceAccount({ namespace: ownNamespace, body: { metadata: { name } } }));
  for (const body of clusterRoles())
    await unlessThere(
      'roleRef' in body
        ? rbac.createClusterRoleBinding({ body })
        : rbac.createClusterRole({ body: { ...body, metadata: body.metadata ?? {} } }),
    );
  for (const body of roles())
    await unlessThere(
      'roleRef' in body
        ? rbac.createNamespacedRoleBinding({ namespace: ownNamespace, body })
        : rbac.createNamespacedRole({ namespace: ownNamespace, body }),
    );
  await unlessThere(
    core.createNamespacedServiceAccount({ namespace: stranger.namespace, body: { metadata: { name: stranger.name } } }),
  );
}

async function unlessThere(made: Promise<unknown>): Promise<void> {
  await made.catch((error: { readonly code?: number }) => {
    if (error.code !== 409) throw error;
  });
}

describe('kcover doctor', () => {
  it('finds search attributes that Temporal lacks, and registers them with --fix', async () => {
    expect(first.code).toBe(1);
    expect(first.of['search attributes']).toMatchObject({
      result: 'failed',
      because: expect.stringContaining('KcoverNode is not registered'),
    });
    expect(first.of['search attributes']?.remedy).toContain('kcover doctor --fix');

    const fixed = await examine(['--fix']);
    expect(fixed.of['search attributes']).toMatchObject({
      result: 'ok',
      because: expect.stringContaining(Object.keys(searchAttributes).join(', ')),
    });
    expect(fixed.all.filter(({ result }) => result === 'failed')).toEqual([]);
    expect(fixed.code).toBe(0);
  });

  it('checks the rights of the role accounts for an administrator, and names the accounts', () => {
    const { of } = first;
    for (const role of ['controller', 'worker']) {
      const because = expect.stringContaining(`system:serviceaccount:${ownNamespace}:kcover-${role} may do all`);
      expect(of[`rights of the ${role}`]).toMatchObject({ result: 'ok', because });
      expect(of[`objects of the ${role}`]).toMatchObject({ result: 'ok' });
    }
  });

  it('checks servers, versions and clocks, and warns while no role of kcover runs', () => {
    const { of } = first;
    expect(of['kubernetes']).toMatchObject({ result: 'ok', because: expect.stringMatching(/v1\.\d+/) });
    expect(of['temporal']?.because).toContain(`namespace ${namespace}`);
    expect(of['clock of kubernetes']?.because).toContain('agree within 2 s');
    expect(of['workers']).toMatchObject({
      result: 'warn',
      because: expect.stringContaining('no worker polls task queue kcover'),
    });
    expect(of['cluster']).toMatchObject({ result: 'warn', because: expect.stringContaining('serves no cluster yet') });
  });

  it('lists the protection of every installed kind of job, and no other kind', () => {
    const { of } = first;
    for (const kind of ['PyTorchJob', 'Job', 'JobSet'] as const)
      expect(of[`jobs of kind ${kind}`]).toMatchObject({ result: 'ok', because: jobKinds[kind].protection });
    for (const kind of ['VolcanoJob', 'MPIJobV2beta1']) expect(of[`jobs of kind ${kind}`]).toBeUndefined();
  });

  it('names the rights that an account lacks', async () => {
    const kubeconfig = await cluster.kubernetes.kubeconfigFor(stranger);
    const { code, of } = await examine(['--role', 'worker'], { KUBECONFIG: kubeconfig });
    expect(of['rights of the worker']).toMatchObject({
      result: 'failed',
      because: expect.stringMatching(
        new RegExp(
          `^system:serviceaccount:${stranger.namespace}:${stranger.name} may not get namespaces kube-system; get nodes; `,
        ),
      ),
      remedy: expect.stringContaining('rbac.yaml'),
    });
    expect(of['rights of the controller']).toBeUndefined();
    expect(code).toBe(1);
  });

  it('refuses a Temporal namespace that serves another cluster', async () => {
    await temporal.workflow.start(workflowTypes.cluster, {
      workflowId: clusterWorkflowId,
      taskQueue: namespace,
      args: [{ clusterUid: 'another' }],
    });
    const { code, of } = await examine([]);
    expect(of['cluster']).toMatchObject({
      result: 'failed',
      because: expect.stringContaining('serves the cluster another'),
    });
    expect(code).toBe(1);
  });
});

describe('a Temporal that answers and refuses', () => {
  it('is distinguished from one that does not answer', async () => {
    const elsewhere = serverEnvironment({ TEMPORAL_NAMESPACE: `nowhere-${namespace}` });
    const [list, { code, data }] = await Promise.all([
      kcover(['list'], '', elsewhere),
      answerOf<Finding[]>(['doctor', '--role', 'worker'], elsewhere),
    ]);
    expect(list.stderr).toMatch(
      /^error\[temporal\.refused\]: Temporal refuses this\n {2}because: list workflows: .*nowhere/,
    );
    expect(list.code).toBe(1);
    expect(data.find(({ check }) => check === 'temporal')).toMatchObject({
      result: 'failed',
      remedy: expect.stringContaining('TEMPORAL_NAMESPACE'),
    });
    expect(code).toBe(1);
  });
});
