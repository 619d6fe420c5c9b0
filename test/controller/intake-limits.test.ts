import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect as dial } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
import { generate } from 'selfsigned';
import type { Fault } from '../../contract/faults/faults.ts';
import { reportPath } from '../../contract/wire/reports.ts';
import { controllerSettings } from '../../contract/settings/settings.schema.ts';
import { rememberAgents } from '../../controller/intake/agents.ts';
import { openOutbox } from '../../controller/outbox/outbox.ts';
import { openIntake } from '../../controller/intake/intake.ts';
import { controllerMetrics } from '../../controller/metrics.ts';
import { refused } from '../../controller/intake/reporter.ts';

let certificate: { cert: string; key: string };
const opened: FastifyInstance[] = [];
beforeAll(async () => {
  const made = await generate([{ name: 'commonName', value: 'localhost' }]);
  certificate = { cert: made.cert, key: made.private };
});
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

/** The intake of a leader: `Bearer <pod>` is an agent on gpu-1, unless it is `stranger`. */
function intake(limits: object = {}) {
  const state = { asked: 0, temporalTakes: true };
  const sent: Fault[] = [];
  const lines: string[] = [];
  const registry = new Registry();
  const ending = new AbortController();
  const outbox = openOutbox({
    signal: ending.signal,
    backoff: { first: 1, most: 1 },
    sender: {
      async send({ signal }) {
        if (!state.temporalTakes) throw new Error('UNAVAILABLE');
        if (signal?.name === 'faultsObserved') sent.push(...signal.payload.faults);
      },
    },
  });
  const authenticate = async (authorization: string | undefined) => {
    state.asked += 1;
    const pod = authorization?.replace('Bearer ', '');
    if (pod === undefined || pod === 'stranger') return refused('unauthenticated', 'a bearer token is needed');
    if (pod === 'unreviewed') return refused('too-many', 'too many tokens are being reviewed', 1000);
    return { kind: 'reporter', node: 'gpu-1', podUid: pod } as const;
  };
  const never = () => {
    throw new Error('not asked for');
  };
  const preflights = {
    pods: { get: () => undefined, at: () => [] },
    acceptsNamespace: never,
    share: never,
    isUpToDate: never,
    fresh: never,
    isAnnounced: never,
    notified: never,
  };
  const server = openIntake({
    certificate: { read: () => certificate, onChange: () => undefined },
    authenticate: { agents: authenticate, preflights: authenticate, trainers: authenticate },
    external: controllerSettings.parse({}).external,
    limits: controllerSettings.parse({ intake: { limits } }).intake.limits,
    collector: () => ({
      outbox,
      noticeOf: () => undefined,
      preflights,
      nodes: { has: never },
      progress: {
        take: never,
        takeStep: never,
        takeLogs: never,
        wantedLogs: () => [],
        isUpToDate: never,
        restartOf: never,
        answerRestart: never,
      },
      rounds: { next: never, waiting: never },
    }),
    agents: rememberAgents(() => 0),
    onNodeFault: () => undefined,
    metrics: controllerMetrics(registry, {
      leading: () => true,
      messagesWaiting: () => 0,
      agentsLive: () => 0,

      agentsSilent: () => [],
      quarantines: () => new Map(),
    }),
    log: pino({ level: 'warn' }, { write: (line: string) => lines.push(line) }),
  });
  opened.push(server);
  return { server, state, sent, lines, metric: (name: string) => registry.getSingleMetricAsString(name) };
}

const bootId = '6f9d2c1e';
const reportsOf = (count: number, code: (index: number) => string, from = 1) =>
  Array.from({ length: count }, (_, index) => ({
    seq: from + index,
    fault: {
      id: `kernel/${bootId}/${from + index}`,
      source: 'kernel',
      code: code(from + index),
      message: 'm',
      seenAt: '2026-11-21T07:00:00Z',
      kernel: { bootId, sequence: from + index },
    },
  }));

async function post(server: FastifyInstance, reports: readonly object[], pod = 'agent') {
  const payload = { schema: 1, node: 'gpu-1', bootId, stream: 's', reports, gaps: [] };
  const answer = await server.inject({
    method: 'POST',
    url: reportPath,
    headers: { authorization: `Bearer ${pod}` },
    payload,
  });
  return {
    status: answer.statusCode,
    body: answer.json<{ accepted?: number; error?: string }>(),
    retryAfter: Number(answer.headers['retry-after']),
  };
}

const listening = async (server: FastifyInstance): Promise<number> =>
  Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port);

async function open(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: certificate.cert, checkServerIdentity: () => undefined });
  await once(socket, 'secureConnect');
  return socket;
}

/** The server's answer to a request whose body never comes, and whether it closes the connection. */
async function answerTo(port: number, head: string): Promise<string> {
  const socket = await open(port);
  socket.write(head);
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(socket, 'close');
  return said;
}

describe('an unauthenticated request', () => {
  const withBody = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n${more}\r\n{`;

  it.each([
    'POST /nope',
    'POST /v1/reports/',
    'POST //v1/reports',
    'PUT /v1/reports',
    'DELETE /v1/progress',
    'PATCH /v1/preflight/rounds',
    'OPTIONS /v1/reports',
    'POST /%zz',
    'GET /',
    'POST /v1/external',
    'POST /v1/external/alertmanager',
  ])('is answered before its body is there, and its connection is closed: %s', async (line) => {
    const { server, state } = intake();
    expect(await answerTo(await listening(server), withBody(line))).toMatch(
      /^HTTP\/1\.1 404 [\s\S]*connection: close[\s\S]*"no-such-path"/i,
    );
    expect(state.asked).toBe(0);
  });

  it.each(['/v1/reports', '/v1/preflight', '/v1/progress', '/v1/preflight/rounds', '/v1/trainer-status'])(
    'is refused before its body is there on %s',
    async (path) => {
      const { server, state } = intake();
      const said = await answerTo(
        await listening(server),
        withBody(`POST ${path}`, 'authorization: Bearer stranger\r\n'),
      );
      expect(said).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close/i);
      expect(state.asked).toBe(1);
    },
  );

  it('loses its connection where no place is free to review its token', async () => {
    const { server } = intake();
    const said = await answerTo(
      await listening(server),
      withBody('POST /v1/reports', 'authorization: Bearer unreviewed\r\n'),
    );
    expect(said).toMatch(/^HTTP\/1\.1 429 [\s\S]*connection: close[\s\S]*retry-after: 1/i);
  });

  it('is logged once a second for each reason, with the number left out', async () => {
    const { server, lines } = intake();
    for (let again = 0; again < 200; again++) await post(server, [], 'stranger');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await post(server, [], 'stranger');
    const logged = lines.map((line): { rejection: string; suppressed?: number } => JSON.parse(line));
    expect(logged.length).toBeLessThan(200);
    expect(logged.reduce((sum, { suppressed = 0 }) => sum + 1 + suppressed, 0)).toBe(201);
  });
});

describe('connections of the intake', () => {
  it('are as many from one address as the settings say', async () => {
    const { server } = intake({ connectionsFrom: 3 });
    const port = await listening(server);
    const sockets = await Promise.all([open(port), open(port), open(port)]);
    await expect(open(port)).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
    sockets[0]?.destroy();
    if (sockets[0]) await once(sockets[0], 'close');
    // The server notices the end a moment later.
    for (let tries = 0; tries < 100; tries++) {
      const again = await open(port).catch(() => undefined);
      if (again) return sockets.concat(again).forEach((socket) => socket.destroy());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('the one that ended did not free its place');
  });
});

describe('an idle connection', () => {
  it('is closed, whether it stalls before its handshake, in its headers or in its body', async () => {
    const { server } = intake();
    const port = await listening(server);
    const silent = dial({ host: '127.0.0.1', port });
    const [half, body] = [await open(port), await open(port)];
    half.write('POST /v1/reports HTTP/1.1\r\nhost: x\r\n');
    body.write(
      'POST /v1/reports HTTP/1.1\r\nhost: x\r\nauthorization: Bearer agent\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    );
    const sockets = [silent, half, body];
    for (const socket of sockets) socket.on('error', () => undefined).resume();
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
  }, 60_000);
});

describe('requests of one pod', () => {
  it('are refused above its rate, and those of another pod are not', async () => {
    const { server } = intake({ requests: { perSecond: 0.1, burst: 5 } });
    const answers = [];
    for (let again = 0; again < 8; again++) answers.push(await post(server, []));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 429, 429, 429]);
    expect(answers.at(-1)?.body).toMatchObject({ error: 'too-many' });
    expect(answers.at(-1)?.retryAfter).toBeGreaterThan(1);
    expect((await post(server, [], 'other')).status).toBe(202);
  });
});

describe('faults of one node', () => {
  it('are accepted up to its rate, and the rest is requested later', async () => {
    const { server, sent, metric } = intake({ faults: { perMinute: 30, repeats: 20 } });
    const reports = reportsOf(50, (index) => `xid/${index}`);
    expect(await post(server, reports)).toMatchObject({ status: 202, body: { accepted: 30 } });
    expect(await post(server, reports.slice(30))).toMatchObject({
      status: 429,
      body: { error: 'too-many' },
      retryAfter: 2,
    });
    expect(sent.map(({ code }) => code)).toEqual(reports.slice(0, 30).map(({ fault }) => fault.code));
    expect(await metric('kcover_intake_rejected_total')).toContain('reason="too-many"} 1');
  });

  it('that repeat do not delay the one that does not', async () => {
    const { server, sent, metric } = intake({ faults: { perMinute: 30, repeats: 5 } });
    const reports = [...reportsOf(900, () => 'xid/31'), ...reportsOf(1, () => 'xid/79', 901)];
    expect(await post(server, reports)).toMatchObject({ status: 202, body: { accepted: 901 } });
    expect(sent.map(({ code }) => code)).toEqual([...Array.from({ length: 5 }, () => 'xid/31'), 'xid/79']);
    expect(await metric('kcover_intake_suppressed_total')).toContain('kcover_intake_suppressed_total 895');
  });

  it('are not counted, nor treated as repeated, when Temporal did not accept them', async () => {
    const { server, state, sent } = intake({ faults: { perMinute: 2, repeats: 2 } });
    state.temporalTakes = false;
    const reports = reportsOf(2, () => 'xid/79');
    expect(await post(server, reports)).toMatchObject({ status: 503, body: { error: 'temporal-unreachable' } });
    state.temporalTakes = true;
    expect(await post(server, reports)).toMatchObject({ status: 202, body: { accepted: 2 } });
    expect(sent).toHaveLength(2);
  }, 20_000);
});
