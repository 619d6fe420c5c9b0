import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import type { HookRequest } from '../../../contract/remedy/remedy.ts';
import { askKube, patchObject, readObject } from '../../../kube/client/requests.ts';
import { hookNamespace, ownNamespace } from '../../../kube/permissions.ts';
import { eventually } from '../../support/rig.ts';
import { remedyRig, type RemedyRig, templateFile } from './remedy-rig.ts';

const group = `repair-${randomUUID().slice(0, 8)}.example.org`;
const plurals = { Reboot: 'reboots', Reset: 'resets' } as const;
type Kind = keyof typeof plurals;

const definition = (kind: Kind, scope: 'Cluster' | 'Namespaced') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plurals[kind]}.${group}` },
  spec: {
    group,
    scope,
    names: { kind, plural: plurals[kind], singular: kind.toLowerCase() },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['nodeName'],
                properties: { nodeName: { type: 'string' }, note: { type: 'string' } },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
});
const rule = { apiGroups: [group], resources: Object.values(plurals), verbs: ['get', 'list', 'watch', 'create'] };
const template = (kind: Kind, spec: object) => templateFile({ apiVersion: `${group}/v1alpha1`, kind, spec });

let rig: RemedyRig;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const named = (kind: string, more: object) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name: group },
  ...more,
});
const post = (path: string, object: object) =>
  askKube<KubernetesObject>(
    rig.admin,
    { method: 'POST', path, body: { contentType: 'application/json', text: JSON.stringify(object) } },
    'create',
  );

beforeAll(async () => {
  const hook = { kind: 'object', condition: 'NodeReady', failed: 'Failed' };
  rig = await remedyRig({
    reboot: { ...hook, template: template('Reboot', { nodeName: '{node}', note: 'for {operation}' }) },
    reset: { ...hook, template: template('Reset', { nodeName: '{node}' }) },
    invalid: { ...hook, template: template('Reset', { node: '{node}' }) },
    absent: { ...hook, template: templateFile({ apiVersion: `${group}/v1alpha1`, kind: 'Recycle', spec: {} }) },
    forbidden: { ...hook, template: templateFile({ apiVersion: 'v1', kind: 'Secret', spec: {} }) },
  });
  await post(definitions, definition('Reboot', 'Cluster'));
  await post(definitions, definition('Reset', 'Namespaced'));
  await post(`${rbac}/clusterroles`, named('ClusterRole', { rules: [rule] }));
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: group };
  const subjects = [{ kind: 'ServiceAccount', name: 'kcover-worker', namespace: ownNamespace }];
  await post(`${rbac}/clusterrolebindings`, named('ClusterRoleBinding', { roleRef, subjects }));
  await eventually(
    () =>
      readObject<KubernetesObject & { resources?: unknown[] }>(rig.admin, `/apis/${group}/v1alpha1`, 'discover').catch(
        () => undefined,
      ),
    (found) => (found?.resources?.length ?? 0) > 2,
  );
});
afterAll(async () => {
  const paths = [
    ...Object.values(plurals).map((plural) => `${definitions}/${plural}.${group}`),
    `${rbac}/clusterrolebindings/${group}`,
    `${rbac}/clusterroles/${group}`,
  ];
  for (const path of paths) await askKube(rig.admin, { method: 'DELETE', path }, 'tidy up').catch(() => undefined);
  await rig.close();
});

const pathOf = (kind: Kind, { operation }: HookRequest) =>
  `/apis/${group}/v1alpha1${kind === 'Reset' ? `/namespaces/${hookNamespace}` : ''}/${plurals[kind]}/${operation}`;
const created = (kind: Kind, request: HookRequest) =>
  eventually(
    () => readObject<KubernetesObject & { spec?: object }>(rig.admin, pathOf(kind, request), 'read'),
    (object) => object !== undefined,
  );
const condition = (kind: Kind, request: HookRequest, type: string, status: string) =>
  patchObject(
    rig.admin,
    `${pathOf(kind, request)}/status`,
    { status: { conditions: [{ type, status, reason: 'Tested', message: 'as asked' }] } },
    'set a condition',
  );

describe('a hook that is an object of another controller', () => {
  it('is created with its node, and ends with its condition', async () => {
    const request = rig.request('reboot');
    const result = rig.cluster.run('runHook', request);
    const object = await created('Reboot', request);
    expect(object).toMatchObject({
      metadata: { labels: { 'kcover.io/operation': request.operation } },
      spec: { nodeName: request.node, note: `for ${request.operation}` },
    });
    await condition('Reboot', request, 'NodeReady', 'Unknown');
    await condition('Reboot', request, 'NodeReady', 'False');
    await condition('Reboot', request, 'NodeReady', 'True');
    expect(await result).toEqual({
      verdict: 'passed',
      because: 'NodeReady is True: Tested: as asked',
      reference: `Reboot ${request.operation}`,
    });
  });

  it('may live in the namespace of hooks, and may fail', async () => {
    const request = rig.request('reset');
    const result = rig.cluster.run('runHook', request);
    await created('Reset', request);
    await condition('Reset', request, 'Failed', 'True');
    expect(await result).toMatchObject({ verdict: 'failed', reference: `Reset ${hookNamespace}/${request.operation}` });
  });

  it('is looked at, and not created again, by a later try, also when it is gone', async () => {
    const request = rig.request('reboot', { timeoutMs: 60_000 });
    const started = await rig.start(request);
    await created('Reboot', request);
    // The heartbeat that says so is on its way.
    await eventually(
      async () => (await started().describe()).lastHeartbeatTime,
      (at) => at !== undefined && at !== null && Date.now() - at.getTime() < 1000,
    );
    await rig.replaceWorker();
    await askKube(rig.admin, { method: 'DELETE', path: pathOf('Reboot', request) }, 'delete');
    expect(await started().result()).toMatchObject({
      verdict: 'unknown',
      because: 'it was deleted before its end was seen',
    });
    expect(await readObject(rig.admin, pathOf('Reboot', request), 'read')).toBeUndefined();
  });

  it('is unknown when its time is over, and stays', async () => {
    const request = rig.request('reboot', { timeoutMs: 2000 });
    expect(await rig.cluster.run('runHook', request)).toMatchObject({
      verdict: 'unknown',
      because: `Reboot ${request.operation} did not end within 2s`,
    });
    expect(await readObject(rig.admin, pathOf('Reboot', request), 'read')).toBeDefined();
  });

  it.each([
    ['invalid', /^it could not be created: .*unknown field "spec.node"/],
    ['absent', /^it was not begun: .*has no kind Recycle/],
    ['forbidden', /^it could not be created: .*cannot create resource "secrets"/],
  ])('that cannot be created has failed: %s', async (hook, because) => {
    expect(await rig.cluster.run('runHook', rig.request(hook, { timeoutMs: 1500 }))).toMatchObject({
      verdict: 'failed',
      because: expect.stringMatching(because),
    });
  });
});
