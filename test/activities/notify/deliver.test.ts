import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deliver } from '../../../activities/notify/deliver.ts';
import type { Notification } from '../../../contract/notify/notification.ts';
import type { NotificationRoute } from '../../../contract/settings/notifications.schema.ts';
import { settings } from '../../support/builders.ts';

const secret = 'b4d8f1c2-secret';
const notification: Notification = {
  schema: 1,
  id: 'x',
  reason: 'RecoveryStarted',
  severity: 'warning',
  about: 'pytorchjob/llm in train',
  incident: 'recovery/x',
  message: 'xid/79',
  at: '2026-11-21T07:09:03.117Z',
  resolves: false,
};

let server: Server;
let directory: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const seen: { url: string | undefined; authorization: string | undefined; body: string }[] = [];
const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const route = (more: object = {}): NotificationRoute => {
  const given = { name: 'oncall', format: 'webhook', url: `${base()}/hook`, timeout: '1s', ...more };
  const [made] = settings({ notifications: { routes: [given] } }).notifications.routes;
  if (!made) throw new Error('no route');
  return made;
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-notify-'));
  await writeFile(join(directory, 'token'), `${secret}\n`);
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      seen.push({ url: request.url, authorization: request.headers.authorization, body });
      answer(request, response);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  await writeFile(join(directory, 'address'), `${base()}/${secret}\n`);
});
beforeEach(() => {
  seen.length = 0;
  answer = (_, response) => response.end('ok');
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  await rm(directory, { recursive: true, force: true });
});

const says = (status: number, headers: Record<string, string> = {}, body = '') => {
  answer = (_, response) => response.writeHead(status, headers).end(body);
};
const failure = (given = route()): Promise<{ code: string; because: string; retryAfterMs?: number }> =>
  deliver(given, [notification]).then(
    () => {
      throw new Error('it was delivered');
    },
    (error: unknown) => error as never,
  );

describe('a notification', () => {
  it('is sent with the token of its file, to the address of its file', async () => {
    await deliver(route({ tokenFile: join(directory, 'token') }), [notification]);
    await deliver(route({ url: undefined, urlFile: join(directory, 'address') }), [notification]);
    await deliver(route({ format: 'alertmanager', url: base() }), [notification]);
    expect(seen.map(({ url, authorization }) => [url, authorization])).toEqual([
      ['/hook', `Bearer ${secret}`],
      [`/${secret}`, undefined],
      ['/api/v2/alerts', undefined],
    ]);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(notification);
  });

  it('is sent on its own where it begins or ends something, and stands for others elsewhere', async () => {
    const waiting = [notification, { ...notification, id: 'y', resolves: true }];
    await deliver(route({ format: 'alertmanager', url: base() }), waiting, 3);
    await deliver(route({ format: 'pagerduty', tokenFile: join(directory, 'token') }), waiting, 3);
    await deliver(route(), waiting, 3);
    const bodies = seen.map(({ body }) => JSON.parse(body) as unknown);
    expect(bodies[0]).toHaveLength(2);
    expect(bodies.slice(1, 3)).toMatchObject([{ event_action: 'trigger' }, { event_action: 'resolve' }]);
    expect(bodies.slice(3)).toMatchObject([{ folded: 5 }]);
  });

  it.each([500, 503, 429, 408])('is tried again after an answer %d', async (status) => {
    says(status, { 'retry-after': '7' }, 'busy');
    expect(await failure()).toMatchObject({
      code: 'notify.unreachable',
      because: `route oncall answered ${status}: busy`,
      retryAfterMs: 7000,
    });
  });

  it.each([400, 401, 404, 410])('is given up after an answer %d', async (status) => {
    says(status);
    expect(await failure()).toMatchObject({ code: 'notify.refused' });
  });

  it('follows no redirect: its key is for one address', async () => {
    says(302, { location: `${base()}/elsewhere` });
    expect(await failure(route({ tokenFile: join(directory, 'token') }))).toMatchObject({ code: 'notify.refused' });
    expect(seen.map(({ url }) => url)).toEqual(['/hook']);
  });

  it('waits no longer than its time-out, and reads no more of an answer than its begin', async () => {
    answer = () => undefined;
    expect(await failure()).toMatchObject({
      code: 'notify.unreachable',
      because: 'route oncall did not answer: TimeoutError',
    });
    answer = (_, response) => {
      response.writeHead(400);
      const write = () => void (response.destroyed || response.write('x'.repeat(65_536), () => setImmediate(write)));
      write();
    };
    expect((await failure()).because.length).toBeLessThan(300);
  });

  it('names no secret where it fails', async () => {
    const address = route({ url: undefined, urlFile: join(directory, 'address') });
    says(400, {}, `bad token ${secret}`);
    expect((await failure(route({ tokenFile: join(directory, 'token') }))).because).toBe(
      'route oncall answered 400: bad token ***',
    );
    await writeFile(join(directory, 'dead'), `http://127.0.0.1:1/${secret}`);
    expect(JSON.stringify(await failure({ ...address, urlFile: join(directory, 'dead') }))).not.toContain(secret);
    await writeFile(join(directory, 'broken'), `not an address ${secret}`);
    const broken = await failure({ ...address, urlFile: join(directory, 'broken') });
    expect([broken.code, broken.because.includes(secret)]).toEqual(['notify.refused', false]);
  });

  it('waits for a secret that is not mounted yet', async () => {
    expect(await failure(route({ tokenFile: join(directory, 'none') }))).toMatchObject({ code: 'notify.unreachable' });
  });
});
