import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KcoverError } from '../../../contract/errors.ts';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import { lokiRequest } from '../../../controller/loki/request.ts';
import { type LokiServer, startLokiServer } from '../../support/loki-server.ts';
import { ns, rigOf, start, xid } from './rig.ts';

const never = new AbortController().signal;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function loki(options?: Parameters<typeof startLokiServer>[0]): Promise<LokiServer> {
  const server = await startLokiServer(options);
  closing.push(server.close);
  return server;
}

const requestTo = (url: string, more: object = {}, signal = never) =>
  lokiRequest(controllerSettings.parse({ loki: { url, ...more } }).loki, '{job="kernel"}', signal);

const range = { start: ns(start), end: ns(start + 60_000), limit: 1000 };

describe('a request to Loki', () => {
  it('asks forward for lines, with tenant, token and categorised labels', async () => {
    const server = await loki({ tenant: 'cluster-1' });
    const directory = await mkdtemp(join(tmpdir(), 'kcover-loki-'));
    closing.push(() => rm(directory, { recursive: true }));
    await writeFile(join(directory, 'token'), 'secret\n');
    server.push(xid(2000, '48, second'), xid(1000, '79, first', { metadata: { k8s_node_name: 'gpu-9' } }), xid(60_000));
    const lines = await requestTo(`${server.url}/`, { tenant: 'cluster-1', tokenFile: join(directory, 'token') })(
      range,
    );
    expect(lines).toMatchObject([
      { at: ns(start + 1000), labels: { job: 'kernel', k8s_node_name: 'gpu-1' } },
      { at: ns(start + 2000), labels: { k8s_node_name: 'gpu-1' } },
    ]);
    expect(server.asked).toEqual([{ query: '{job="kernel"}', ...range }]);
    expect(server.headers[0]).toMatchObject({ authorization: 'Bearer secret' });
  });

  it.each([
    [400, 'max entries limit per query exceeded, limit > max_entries_limit (1000 > 500)', 'lower loki.page'],
    [401, 'no org id\n', 'loki.tenant'],
    [429, 'too many outstanding requests', 'asks again'],
    [504, 'context deadline exceeded', 'asks again'],
    [500, '\u001b[31mred\u001b[0m\n<html>', 'asks again'],
  ])('fails with HTTP %i, what Loki said and what to do', async (status, text, advice) => {
    const server = await loki();
    server.fail({ status, text });
    await expect(requestTo(server.url)(range)).rejects.toMatchObject({
      code: 'loki.unavailable',
      because: expect.stringMatching(new RegExp(`^HTTP ${status}: [^\\u001b\\n]+$`)),
      advice: expect.stringContaining(advice),
    });
  });

  it('hands on when Loki wants to be asked again, at most five minutes, and never so late that lines are lost', async () => {
    const server = await loki();
    const waitOf = async (ms: number, more: object = {}) => {
      server.limitFor(ms, 'seconds');
      return requestTo(server.url, more)(range).catch((error: unknown) => (error as KcoverError).retryAfterMs);
    };
    expect(await waitOf(7000)).toBe(7000);
    expect(await waitOf(3_600_000)).toBe(300_000);
    expect(await waitOf(3_600_000, { oldest: '4m', overlap: '1m' })).toBe(120_000);
  });

  it('refuses a limit that this Loki does not allow', async () => {
    const server = await loki();
    await expect(requestTo(server.url)({ ...range, limit: 5001 })).rejects.toMatchObject({
      because: expect.stringContaining('max entries limit'),
    });
  });

  it('fails where no server listens, and where the token cannot be read', async () => {
    const server = await startLokiServer();
    await server.close();
    await expect(requestTo(server.url)(range)).rejects.toMatchObject({ code: 'loki.unavailable' });
    const open = await loki();
    await expect(requestTo(open.url, { tokenFile: '/nowhere' })(range)).rejects.toMatchObject({
      because: expect.stringContaining('/nowhere'),
    });
    expect(open.headers).toEqual([]);
  });

  it('gives up on a server that does not answer, sends the token nowhere else, and bounds what it reads', async () => {
    const other = await loki();
    const server = await odd((path, response) => {
      if (path.startsWith('/redirect')) response.writeHead(302, { location: other.url }).end();
      if (path.startsWith('/flood')) {
        const chunk = Buffer.alloc(1024 * 1024, 'x');
        response.on('error', () => undefined);
        for (let count = 0; count < 24; count++) response.write(chunk);
      }
    });
    await expect(requestTo(`${server}/hang`, { timeout: '200ms' })(range)).rejects.toMatchObject({
      because: 'no answer in loki.timeout',
    });
    await expect(requestTo(`${server}/redirect`)(range)).rejects.toMatchObject({ code: 'loki.unavailable' });
    expect(other.headers).toEqual([]);
    expect(await requestTo(`${server}/flood`)(range)).toBe('too-large');
  });
});

async function odd(answer: (path: string, response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer((request, response) => answer(request.url ?? '', response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a poller that runs', () => {
  it('shows while Loki is unavailable, logs it rarely, and loses no line of that time', async () => {
    const server = await loki();
    const ended = new AbortController();
    const rig = rigOf(requestTo(server.url, {}, ended.signal));
    const settings = controllerSettings.parse({ loki: { interval: '10ms', delay: '0s' } }).loki;
    const running = rig.open({ settings, signal: ended.signal }).run();
    const isUnavailable = async (expected: boolean) => {
      while ((await rig.metric('kcover_loki_unavailable')).includes('{query="kernel"} 1') !== expected) await sleep(5);
    };
    await isUnavailable(false);
    server.fail(...Array.from({ length: 3 }, () => ({ status: 429, text: 'too many outstanding requests' })));
    rig.now = start + 60_000;
    await isUnavailable(true);
    server.push(xid(30_000));
    await isUnavailable(false);
    while (rig.sent.length === 0) await sleep(5);
    ended.abort();
    await running;
    expect(rig.sent).toMatchObject([{ code: 'xid/79', node: 'gpu-1' }]);
    expect(rig.logged.filter((line) => line.includes('loki.unavailable'))).toHaveLength(2);
    expect(rig.logged.filter((line) => line.includes('Loki answers again'))).toHaveLength(1);
  });

  it.each(['seconds', 'date'] as const)(
    'does not ask before the time that Loki names in %s, and loses no line of that time',
    async (form) => {
      const server = await loki();
      const ended = new AbortController();
      closing.push(() => Promise.resolve(ended.abort()));
      const rig = rigOf(requestTo(server.url, {}, ended.signal));
      const settings = controllerSettings.parse({ loki: { interval: '10ms', delay: '0s' } }).loki;
      const running = rig.open({ settings, signal: ended.signal }).run();
      rig.now = start + 20_000;
      while (server.asked.length === 0) await sleep(5);
      server.limitFor(1500, form);
      while (server.limited() === 0) await sleep(5);
      rig.now = start + 60_000;
      server.push(xid(30_000));
      while (rig.sent.length === 0) await sleep(5);
      ended.abort();
      await running;
      expect(server.limited()).toBe(1);
      expect(rig.sent).toMatchObject([{ code: 'xid/79', node: 'gpu-1' }]);
    },
  );
});
