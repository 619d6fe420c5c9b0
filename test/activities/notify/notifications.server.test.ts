import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Notification } from '../../../contract/notify/notification.ts';
import type { Announcement } from '../../../contract/wire/activities.ts';
import { eventually } from '../../support/rig.ts';
import { type LiveCluster, liveCluster } from '../live-cluster.ts';

const run = randomUUID().slice(0, 8);
const got: Notification[] = [];
let server: Server;
let cluster: LiveCluster;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      got.push(JSON.parse(body) as Notification);
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
        ],
      },
    },
  });
});
afterAll(async () => {
  for (const name of ['hook', 'down'])
    await cluster.client.workflow
      .getHandle(`notify/${name}-${run}`)
      .terminate('tidy up')
      .catch(() => undefined);
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
});
