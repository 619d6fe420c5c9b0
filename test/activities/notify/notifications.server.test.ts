import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Notification } from '../../../contract/notify/notification.ts';
import type { Announcement } from '../../../contract/wire/activities.ts';
import type { JobRef } from '../../../contract/job/jobs.ts';
import { askKube } from '../../../kube/client/requests.ts';
import { jobPath } from '../../../kube/jobs/kinds/index.ts';
import { pytorchJob } from '../../../testbed/job-manifests.ts';
import { createJob } from '../../../testbed/jobs.ts';
import { eventually } from '../../support/rig.ts';
import { type LiveCluster, liveCluster } from '../live-cluster.ts';

const run = randomUUID().slice(0, 8);
const got: Notification[] = [];
const gotByOwner: Notification[] = [];
const created: JobRef[] = [];
let server: Server;
let cluster: LiveCluster;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      (request.url === '/own' ? gotByOwner : got).push(JSON.parse(body) as Notification);
      response.end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  cluster = await liveCluster({
    workflows: true,
    more: {
      notifications: {
        routes: [
          { name: `hook-${run}`, format: 'webhook', url },
          { name: `down-${run}`, format: 'webhook', url: 'http://127.0.0.1:1/' },
          { name: `own-${run}`, format: 'webhook', url: `${url}own`, subscribe: true },
        ],
      },
    },
  });
});
afterAll(async () => {
  for (const name of ['hook', 'down', 'own'])
    await cluster.client.workflow
      .getHandle(`notify/${name}-${run}`)
      .terminate('tidy up')
      .catch(() => undefined);
  for (const job of created) await askKube(cluster.kube, { method: 'DELETE', path: jobPath(job) }, 'tidy up');
  await cluster.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const event: Announcement = {
  about: { kind: 'node', name: `gpu-${run}`, uid: 'u' },
  type: 'Warning',
  reason: 'NodeQuarantined',
  message: 'xid/79',
  key: `node/gpu-${run}/x`,
};

describe('an Event of a worker', () => {
  it('reaches a receiver once, also when it is written again, and while another receiver is down', async () => {
    await cluster.run('announce', { events: [event, { ...event, reason: 'AttemptStopped' }] });
    await cluster.run('announce', { events: [event] });
    await cluster.run('announce', { events: [{ ...event, reason: 'NodeReleased', message: 'ada: replaced' }] });
    await eventually(
      () => got.length,
      (count) => count >= 2,
    );
    expect(got.map(({ reason, about, message }) => [reason, about, message])).toEqual([
      ['NodeQuarantined', `node gpu-${run}`, 'xid/79'],
      ['NodeReleased', `node gpu-${run}`, 'ada: replaced'],
    ]);
    const { items } = await cluster.api.core.listNamespacedEvent({
      namespace: 'default',
      fieldSelector: `involvedObject.name=gpu-${run}`,
    });
    expect(items).toHaveLength(3);
  });

  it('reaches the route that the job of its owner names, and no other job does', async () => {
    const aboutJob = async (name: string, annotations: Readonly<Record<string, string>>): Promise<Announcement> => {
      const { kind, namespace, uid } = await createJob(
        cluster.api,
        pytorchJob({ name, workers: 1, suspend: true, annotations }),
      );
      const job = { kind, namespace, name, uid };
      created.push(job);
      const incident = `recovery/${namespace}/${name}/2026-11-23T07:09:03.117Z`;
      return { about: { kind: 'job', job }, type: 'Warning', reason: 'RecoveryStarted', message: 'm', key: incident };
    };
    const [other, wants] = [`other-${run}`, `wants-${run}`];
    await cluster.run('announce', { events: [await aboutJob(other, {})] });
    await cluster.run('announce', { events: [await aboutJob(wants, { 'kcover.io/notify': `none,own-${run}` })] });
    await eventually(
      () => gotByOwner.length,
      (count) => count >= 1,
    );
    expect(gotByOwner.map(({ job }) => job)).toEqual([`pytorchjob/${wants}`]);
  });
});
