import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { settings } from '../../support/builders.ts';
import { announcementActivities } from '../../../activities/announcements.ts';
import type { Announcement } from '../../../contract/wire/activities.ts';
import { connectKube, type Kube } from '../../../kube/client/connection.ts';
import { type ApiProxy, openApiProxy } from '../../../testbed/api-proxy.ts';
import { attachTestCluster } from '../../../testbed/attach.ts';
import { writeKubeconfig } from '../../../testbed/kubeconfig.ts';
import { Ports } from '../../../testbed/servers/ports.ts';

const cluster = () => attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
let proxy: ApiProxy;
let kube: Kube;
let events: Announcement[];
/** Random draws, one for each request; later requests get no fault. */
let draws: number[];

beforeAll(async () => {
  const { kubernetes, directory } = cluster();
  const home = mkdtempSync(join(tmpdir(), 'kcover-events-'));
  const ports = new Ports(directory);
  proxy = await openApiProxy({
    to: kubernetes,
    port: await ports.take(),
    directory: home,
    draw: () => draws.shift() ?? 1,
  });
  const { users } = JSON.parse(readFileSync(kubernetes.kubeconfig, 'utf8')) as { users: { user: { token: string } }[] };
  const kubeconfig = writeKubeconfig({
    ...proxy,
    file: join(home, 'kubeconfig'),
    user: 'admin',
    token: users[0]?.user.token ?? '',
  });
  kube = connectKube({ kubeconfig, timeoutMs: 2000 });
});
beforeEach(() => {
  draws = [];
  proxy.setFaultProfile({});
  const name = `gpu-${randomUUID()}`;
  events = ['one', 'two', 'three'].map((key) => ({
    about: { kind: 'node', name, uid: name },
    type: 'Warning',
    reason: 'NodeQuarantined',
    message: key,
    key,
  }));
});
afterAll(async () => {
  await kube?.close();
  await proxy?.close();
});

/** One attempt of the activity. */
const announce = (): Promise<void> =>
  announcementActivities({
    kube,
    log: pino({ enabled: false }),
    now: Date.now,
    settings: settings(),
    temporal: () => {
      throw new Error('nobody is told without routes');
    },
  }).announce({ events });
async function written(): Promise<string[]> {
  const fieldSelector = `involvedObject.name=${events[0]?.about.kind === 'node' ? events[0].about.name : ''}`;
  const { items } = await cluster().api.core.listNamespacedEvent({ namespace: 'default', fieldSelector });
  return items.map(({ message }) => message ?? '').toSorted();
}

describe('Events', () => {
  it('that meet one failing answer are tried again: each is there once, and no other was kept back', async () => {
    // The draws are for the faults of the proxy in their order: cut before, cut after, hang, conflict, too many requests, server error, cut watch.
    proxy.setFaultProfile({ 'server error': 0.5 });
    draws = [1, 1, 1, 1, 1, 0];
    await expect(announce()).rejects.toThrow('Kubernetes');
    expect(await written()).toEqual(['three', 'two']);
    await announce();
    expect(await written()).toEqual(['one', 'three', 'two']);
  });

  it('whose answer is lost are not written twice', async () => {
    proxy.setFaultProfile({ 'cut after': 0.5 });
    draws = [1, 0];
    await expect(announce()).rejects.toThrow('Kubernetes');
    await announce();
    expect(await written()).toEqual(['one', 'three', 'two']);
  });

  it('that the server refuses for good fail nothing, and keep no other back', async () => {
    const about = { kind: 'pod', namespace: `none-${randomUUID()}`, name: 'llm-0', uid: 'u' } as const;
    events = events.map((event, index) => (index === 1 ? { ...event, about } : event));
    await announce();
    expect(await written()).toEqual(['one', 'three']);
  });
});
