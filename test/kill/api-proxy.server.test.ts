import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { kubeError } from '../../kube/client/errors.ts';
import { watchResource } from '../../kube/client/watch.ts';
import { type ApiProxy, openApiProxy } from '../../testbed/api-proxy.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { writeKubeconfig } from '../../testbed/kubeconfig.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { eventually } from '../support/rig.ts';

const cluster = () => attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
const namespace = 'default';
let proxy: ApiProxy;
let kube: Kube;
let count = 0;

beforeAll(async () => {
  const { kubernetes, directory } = cluster();
  const home = mkdtempSync(join(tmpdir(), 'kcover-api-proxy-'));
  const ports = new Ports(directory);
  proxy = await openApiProxy({ to: kubernetes, port: await ports.take(), directory: home, draw: () => 0.4 });
  const { users } = JSON.parse(readFileSync(kubernetes.kubeconfig, 'utf8')) as { users: { user: { token: string } }[] };
  const kubeconfig = writeKubeconfig({
    ...proxy,
    file: join(home, 'kubeconfig'),
    user: 'admin',
    token: users[0]?.user.token ?? '',
  });
  kube = connectKube({ kubeconfig, timeoutMs: 1000 });
});
beforeEach(() => proxy.setFaultProfile({}));
afterAll(async () => {
  await kube?.close();
  await proxy?.close();
});

const create = (name: string) => kube.core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } });
const isThere = (name: string): Promise<boolean> =>
  cluster()
    .api.core.readNamespacedConfigMap({ namespace, name })
    .then(
      () => true,
      () => false,
    );
const problemOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'none',
    (error: unknown) => kubeError(error, 'call').code,
  );

describe('the proxy in front of the API server', () => {
  it('forwards everything when no faults are configured', async () => {
    const name = `proxied-${++count}`;
    await create(name);
    expect(await isThere(name)).toBe(true);
  });

  it.each([
    ['cut before', false],
    ['cut after', true],
    ['hang', true],
    ['server error', false],
    ['too many requests', false],
  ] as const)('fails a change by "%s", with the change applied: %s', async (fault, done) => {
    const name = `proxied-${++count}`;
    proxy.setFaultProfile({ [fault]: 1 });
    expect(await problemOf(create(name))).not.toBe('none');
    expect(await isThere(name)).toBe(done);
    expect(proxy.injected[fault]).toBeGreaterThan(0);
  });

  it('answers a change of an existing object with a conflict, and does not apply it', async () => {
    const name = `proxied-${++count}`;
    await create(name);
    proxy.setFaultProfile({ conflict: 1 });
    expect(await problemOf(kube.core.deleteNamespacedConfigMap({ namespace, name }))).toBe('kube.conflict');
    expect(await isThere(name)).toBe(true);
  });

  it('cuts watches, and a resumed watch sees what happened meanwhile', async () => {
    const stop = new AbortController();
    proxy.setFaultProfile({ 'cut watch': 1 });
    const states: string[] = [];
    const watched = watchResource({
      kube,
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      onEvent: () => undefined,
      onState: (state) => states.push(state),
      signal: stop.signal,
    });
    await watched.synced;
    const before = proxy.injected['cut watch'];
    await eventually(
      () => proxy.injected['cut watch'],
      (cuts) => cuts > before + 1,
    );
    const name = `proxied-${++count}`;
    await create(name);
    await eventually(
      () => watched.get(namespace, name),
      (found) => found !== undefined,
    );
    stop.abort();
    await sleep(0);
  });
});
