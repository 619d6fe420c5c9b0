/** The chart on a real API server: its objects, its running pods, and the rights under which the other tests run. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject, V1ConfigMap, V1EndpointSlice, V1Pod, V1Secret } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import { examineRights } from '../../cli/doctor/rights.ts';
import { leaderLabel } from '../../contract/ids.ts';
import { connectKube, type Kube, openRequest } from '../../kube/client/connection.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { clusterRoles, roles } from '../../kube/rbac.ts';
import { askKube, listObjects, patchObject, readObject } from '../../kube/client/requests.ts';
import { agentAccount, agentNamespace } from '../../testbed/agents.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { chartDirectory } from '../../testbed/chart.ts';
import { kubeletLabel } from '../../testbed/servers/kwok.ts';
import { until } from '../../testbed/until.ts';
import { pathOf, places } from './places.ts';
import { essence, fullValues, render, testHelm } from './rendered.ts';

const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
let kube: Kube;

beforeAll(() => {
  kube = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig, timeoutMs: 30_000 });
});
afterAll(() => kube.close());

function unlessThere(error: { readonly code?: number }): void {
  if (error.code !== 409) throw error;
}

/** Errors of the API server for these objects, in a dry run. */
async function refusedOf(objects: readonly KubernetesObject[]): Promise<string[]> {
  const refused: string[] = [];
  for (const object of objects) {
    const body = { contentType: 'application/apply-patch+yaml', text: JSON.stringify(object) };
    const query = { dryRun: 'All', fieldManager: 'kcover-test', fieldValidation: 'Strict', force: 'true' };
    const answer = await openRequest(kube, { method: 'PATCH', path: pathOf(object), query, body });
    const said = await answer.text();
    if (!answer.ok) refused.push(`${object.kind}/${object.metadata?.name}: ${said}`);
  }
  return refused;
}

describe('the objects of the chart', () => {
  it.each([
    ['the defaults', []],
    ['a file that sets nearly everything', [fullValues]],
  ])('are accepted by the API server without an unknown field: %s', async (_, files) => {
    const { objects } = await render(...files);
    // Kinds of the Prometheus operator and cert-manager, which are not installed here.
    const foreign = ['ServiceMonitor', 'PrometheusRule', 'Certificate'];
    const known = objects.filter(({ kind = '' }) => !foreign.includes(kind));
    expect(known.length).toBeGreaterThan(15);
    const needed = new Set(known.flatMap(({ metadata }) => metadata?.namespace ?? []));
    for (const name of needed)
      await cluster.api.core.createNamespace({ body: { metadata: { name } } }).catch(unlessThere);
    expect(await refusedOf(known)).toEqual([]);
  });
});

describe('the objects of an installation by hand', () => {
  it.each([
    'docs/reference/rbac.yaml',
    'docs/reference/rbac-repair.yaml',
    'docs/reference/admission.yaml',
    'examples/temporal/dev-server.yaml',
  ])('are accepted by the API server too: %s', async (page) => {
    const documents = parseAllDocuments(readFileSync(join(chartDirectory, '..', '..', page), 'utf8'));
    const objects = documents.map((document) => document.toJS() as KubernetesObject | null);
    // Under other names, because some fields of existing objects are immutable.
    const another = ({ metadata, ...object }: KubernetesObject) => ({
      ...object,
      metadata: { ...metadata, name: `${metadata?.name}-by-hand` },
    });
    const known = objects.flatMap((object) => (object?.kind === undefined ? [] : [another(object)]));
    for (const name of new Set(known.flatMap(({ metadata }) => metadata?.namespace ?? [])))
      await cluster.api.core.createNamespace({ body: { metadata: { name } } }).catch(unlessThere);
    expect(known.length).toBeGreaterThan(0);
    expect(await refusedOf(known)).toEqual([]);
  });
});

describe('rights', () => {
  it('match the permission table, and are those under which all tests run', async () => {
    const { objects } = await render();
    const rendered = objects.filter(({ apiVersion }) => apiVersion?.startsWith('rbac.'));
    const byKind = (all: readonly KubernetesObject[]) =>
      all.map(essence).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    expect(byKind(rendered)).toEqual(byKind([...clusterRoles(), ...roles()]));
    const inForce = await Promise.all(rendered.map((object) => readObject(kube, pathOf(object), 'read a right')));
    expect(inForce.map((object) => essence(object ?? {}))).toEqual(rendered.map(essence));
    const others = (
      await listObjects(kube, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {}, 'list bindings')
    ).filter(
      (binding) =>
        JSON.stringify(essence(binding)).includes(ownNamespace) &&
        !rendered.some(({ metadata }) => metadata?.name === binding.metadata?.name),
    );
    expect(others).toEqual([]);
  });

  it('of the agents are empty', async () => {
    const rulesOf = async (name: string, namespace: string): Promise<unknown> => {
      const theirs = connectKube({ kubeconfig: await cluster.kubernetes.kubeconfigFor({ namespace, name }) });
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectRulesReview',
        spec: { namespace: ownNamespace },
      };
      const request = {
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
        body: { contentType: 'application/json', text: JSON.stringify(review) },
      } as const;
      const { status } = await askKube<{ status: { resourceRules: object[]; nonResourceRules: object[] } }>(
        theirs,
        request,
        'ask for rights',
      );
      await theirs.close();
      return [...status.resourceRules, ...status.nonResourceRules].map((rule) => JSON.stringify(rule)).toSorted();
    };
    const [agent, nobody, worker] = await Promise.all([
      rulesOf(agentAccount, agentNamespace),
      rulesOf('default', agentNamespace),
      rulesOf('kcover-worker', ownNamespace),
    ]);
    expect(agent).toEqual(nobody);
    expect(worker).not.toEqual(nobody);
  });
});

describe('requests of the controller', () => {
  it('have their own priority levels at the API server: one for its Lease and watches, one for token reviews', async () => {
    const uids = async (plural: string): Promise<ReadonlyMap<string, string>> => {
      const found = await listObjects(kube, `/apis/flowcontrol.apiserver.k8s.io/v1/${plural}`, {}, `list ${plural}`);
      return new Map(found.map(({ metadata }) => [metadata?.uid ?? '', metadata?.name ?? '']));
    };
    const [flows, levels] = await Promise.all([uids('flowschemas'), uids('prioritylevelconfigurations')]);
    const classified = async (role: string, path: string, body?: object): Promise<unknown> => {
      const theirs = connectKube({
        kubeconfig: await cluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name: `kcover-${role}` }),
      });
      const text = body && { contentType: 'application/json', text: JSON.stringify(body) };
      const { headers } = await openRequest(theirs, {
        method: text ? 'POST' : 'GET',
        path,
        ...(text && { body: text }),
      });
      await theirs.close();
      return [
        flows.get(headers.get('x-kubernetes-pf-flowschema-uid') ?? ''),
        levels.get(headers.get('x-kubernetes-pf-prioritylevel-uid') ?? ''),
      ];
    };
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${ownNamespace}/leases/kcover`;
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'x' } };
    expect(await classified('controller', leases)).toEqual(['kcover-lease', 'kcover']);
    expect(await classified('controller', '/api/v1/nodes')).toEqual(['kcover-controller', 'kcover']);
    expect(await classified('controller', '/apis/authentication.k8s.io/v1/tokenreviews', review)).toEqual([
      'kcover-reviews',
      'kcover-reviews',
    ]);
    expect(await classified('worker', '/api/v1/nodes')).toEqual(['service-accounts', 'workload-low']);
  });
});

describe('a release in a namespace that allows restricted pods only', () => {
  const namespace = 'kcover-trial';
  const agents = `${namespace}-agents`;
  /** Without accelerators. */
  const plain = 'trial-plain';
  const release = 'trial';
  // The policies of the existing release protect its directory on the nodes.
  const chart = [chartDirectory, '--set', 'agent.stateDirectory=/var/lib/trial'];
  const component = (name: string) => ({
    labelSelector: `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${name}`,
  });
  const pods = (name: string) =>
    listObjects<V1Pod>(
      kube,
      `/api/v1/namespaces/${name === 'agent' ? agents : namespace}/pods`,
      component(name),
      'list pods',
    );
  const running = (name: string, count: number): Promise<readonly V1Pod[]> =>
    until(`${count} pods of ${name}`, 90_000, async () => {
      const there = (await pods(name)).filter(
        ({ status, metadata }) => status?.phase === 'Running' && !metadata?.deletionTimestamp,
      );
      return there.length === count ? { found: there } : { missing: `${there.length} run` };
    });
  const helm = async (...args: readonly string[]): Promise<void> => {
    const { code, tail } = await testHelm().run(...args, '--namespace', namespace);
    expect(code === 0 ? '' : tail).toBe('');
  };
  const sick = cluster.nodes.at(-1)?.name ?? '';

  beforeAll(async () => {
    await patchObject(
      kube,
      `/api/v1/nodes/${sick}`,
      { spec: { taints: [{ key: 'kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' }] } },
      'taint',
    );
    const { core } = cluster.api;
    const node = {
      name: plain,
      labels: { 'kubernetes.io/hostname': plain, type: 'kwok', [kubeletLabel.key]: kubeletLabel.value },
    };
    const resources = { cpu: '64', memory: '256Gi', pods: '110', 'ephemeral-storage': '1Ti' };
    await core.createNode({ body: { metadata: node, status: { capacity: resources, allocatable: resources } } });
    await core.createNamespace({
      body: { metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
    });
    await helm('install', release, ...chart);
  });
  afterAll(async () => {
    await testHelm().run('uninstall', release, '--namespace', namespace, '--ignore-not-found');
    await patchObject(kube, `/api/v1/nodes/${sick}`, { spec: { taints: null } }, 'release the node');
    await openRequest(kube, { method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
    await cluster.api.core.deleteNode({ name: plain });
  });

  it('runs an agent on every GPU node, including quarantined ones, and keeps its other roles off them', async () => {
    const agents = await running('agent', cluster.nodes.length);
    expect(agents.map(({ spec }) => spec?.nodeName ?? '').toSorted()).toEqual(
      cluster.nodes.map(({ name }) => name).toSorted(),
    );
    const [controllers, workers] = await Promise.all([running('controller', 2), running('worker', 2)]);
    expect(new Set([...controllers, ...workers].map(({ spec }) => spec?.nodeName))).toEqual(new Set([plain]));
  });

  it('routes reports to the controller with the leader label, and to none without that label', async () => {
    const controllers = await running('controller', 2);
    const behind = async (): Promise<string[]> => {
      const labelSelector = `kubernetes.io/service-name=${release}-kcover-intake`;
      const slices = await listObjects<V1EndpointSlice>(
        kube,
        `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
        { labelSelector },
        'list slices',
      );
      if (slices.length === 0) throw new Error('no slice yet');
      return slices.flatMap(({ endpoints, ports }) =>
        (endpoints ?? [])
          .filter(({ conditions }) => conditions?.ready)
          .map(({ targetRef }) => `${targetRef?.name}:${ports?.[0]?.port}`),
      );
    };
    const lead = async (name: string, value: string | null): Promise<void> => {
      await patchObject(
        kube,
        `/api/v1/namespaces/${namespace}/pods/${name}`,
        { metadata: { labels: { [leaderLabel.key]: value } } },
        'label a pod',
      );
    };
    const leads = (expected: readonly string[]) =>
      until(`intake leads to ${expected.join(', ') || 'nobody'}`, 60_000, async () => {
        const seen = await behind();
        return JSON.stringify(seen) === JSON.stringify(expected)
          ? { found: true }
          : { missing: `it leads to ${seen.join(', ') || 'nobody'}` };
      });

    await leads([]);
    for (const { metadata } of controllers) {
      const name = metadata?.name ?? '';
      await lead(name, `${release}-kcover`);
      await leads([`${name}:8443`]);
      await lead(name, null);
    }
    await leads([]);
  });

  it('keeps its certificate across an upgrade, and replaces only the pods whose settings changed', async () => {
    const secret = () =>
      readObject<V1Secret>(kube, `/api/v1/namespaces/${namespace}/secrets/${release}-kcover-intake`, 'read the Secret');
    const generation = async (plural: string, role: string): Promise<unknown> =>
      (
        await readObject(
          kube,
          `/apis/apps/v1/namespaces/${role === 'agent' ? agents : namespace}/${plural}/${release}-kcover-${role}`,
          'read',
        )
      )?.metadata?.generation;
    const all = () =>
      Promise.all([
        generation('daemonsets', 'agent'),
        generation('deployments', 'controller'),
        generation('deployments', 'worker'),
      ]);
    const before = { secret: await secret(), generations: await all() };

    await helm('upgrade', release, ...chart, '--set', 'settings.worker.mode=act');

    expect((await secret())?.data).toEqual(before.secret?.data);
    expect(before.secret?.data?.['tls.key']).toBeDefined();
    const [agent, controller, worker] = before.generations;
    expect(await all()).toEqual([agent, controller, Number(worker) + 1]);
  });

  it('replaces its certificate in the last third of its validity, while agents still trust the old one', async () => {
    const secretPath = `/api/v1/namespaces/${namespace}/secrets/${release}-kcover-intake`;
    const read = async () => {
      const { data = {} } = (await readObject<V1Secret>(kube, secretPath, 'read the Secret')) ?? {};
      const bundle = await readObject<V1ConfigMap>(
        kube,
        `/api/v1/namespaces/${agents}/configmaps/${release}-kcover-intake-ca`,
        'read the authority',
      );
      const authorities = bundle?.data?.['ca.crt']?.match(/-----BEGIN[^]+?-----END CERTIFICATE-----/g) ?? [];
      return {
        certificate: new X509Certificate(Buffer.from(data['tls.crt'] ?? '', 'base64')),
        authorities: authorities.map((pem) => new X509Certificate(pem)),
      };
    };
    const before = await read();
    expect(before.authorities).toHaveLength(1);
    await patchObject(
      kube,
      secretPath,
      { metadata: { annotations: { 'kcover.io/renew-after': '2026-01-01' } } },
      'expire the certificate',
    );

    // helm is not the field manager of the day.
    await helm('upgrade', release, ...chart, '--force-conflicts');

    const after = await read();
    expect(after.certificate.fingerprint256).not.toBe(before.certificate.fingerprint256);
    const trusted = ({ certificate }: typeof after) =>
      after.authorities.filter(({ publicKey }) => certificate.verify(publicKey)).length;
    expect([trusted(after), trusted(before)]).toEqual([1, 1]);
    const kept = await readObject<V1Secret>(kube, secretPath, 'read the Secret');
    expect(Date.parse(kept?.metadata?.annotations?.['kcover.io/renew-after'] ?? '')).toBeGreaterThan(Date.now());
  });

  it('may change jobs and pods only in the namespaces of the values, and the doctor reports that', async () => {
    await helm('upgrade', release, ...chart, '--set', 'rbac.namespaces={default}');
    const installed = { namespace, name: `${release}-kcover`, lease: `${release}-kcover`, reports: [] };
    const findings = await examineRights({ kube, installed, roles: ['controller', 'worker'], named: false });
    const rights = findings.filter(({ check }) => check.startsWith('rights'));
    expect(rights).toMatchObject([
      { result: 'warn', because: expect.stringContaining('may not patch pytorchjobs.kubeflow.org; ') },
      {
        result: 'warn',
        because: expect.stringContaining('may not delete pods; deletecollection pods; get pods/log; '),
      },
    ]);
    expect(findings.filter(({ check }) => check.startsWith('objects')).map(({ result }) => result)).toEqual([
      'ok',
      'ok',
    ]);

    const kubeconfig = await cluster.kubernetes.kubeconfigFor({ namespace, name: `${release}-kcover-worker` });
    const worker = connectKube({ kubeconfig });
    const deleting = async (where: string) =>
      (
        await openRequest(worker, {
          method: 'DELETE',
          path: `/api/v1/namespaces/${where}/pods`,
          query: { labelSelector: 'none=such' },
        })
      ).status;
    expect([await deleting('default'), await deleting('kube-system')]).toEqual([200, 403]);
    await worker.close();
  });

  it('may read ConfigMaps of others only in the namespaces of nodes.ascend, and the doctor checks them', async () => {
    await helm('upgrade', release, ...chart, '--set', 'settings.controller.nodes.ascend.namespaces={default}');
    const examine = async (...reports: readonly string[]) => {
      const installed = { namespace, name: `${release}-kcover`, lease: `${release}-kcover`, reports };
      const findings = await examineRights({ kube, installed, roles: ['controller'], named: false });
      return findings.find(({ check }) => check === 'rights of the controller');
    };
    expect(await examine('default')).toMatchObject({ result: 'ok' });
    expect(await examine('default', 'kube-system')).toMatchObject({
      result: 'failed',
      because: expect.stringContaining(
        'may not get configmaps in kube-system; list configmaps in kube-system; watch configmaps in kube-system',
      ),
    });
    await helm('upgrade', release, ...chart);
    expect(await examine('default')).toMatchObject({ result: 'failed' });
  });

  it('leaves nothing behind in the cluster when it is uninstalled', async () => {
    await helm('uninstall', release);
    const paths = Object.values(places).flatMap(([version, plural, namespaced]) =>
      namespaced || plural === 'namespaces' ? [] : [`/${version}/${plural}`],
    );
    const left = await Promise.all(
      paths.map((path) => listObjects(kube, path, { labelSelector: `app.kubernetes.io/instance=${release}` }, 'list')),
    );
    expect(left.flat()).toEqual([]);
  });
});
