import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
import type { Fault } from '../../../contract/faults/faults.ts';
import { rejections } from '../../../contract/wire/reports.ts';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import { takeExternalReports } from '../../../controller/external/endpoint.ts';
import { externalReaders } from '../../../controller/external/formats.ts';
import { authenticateSenders } from '../../../controller/external/senders.ts';
import { guardRequests } from '../../../controller/intake/request-guard.ts';
import { openBuckets } from '../../../controller/intake/token-bucket.ts';
import { controllerMetrics } from '../../../controller/metrics.ts';
import { type Call } from '../../../controller/outbox/messages.ts';
import { openOutbox } from '../../../controller/outbox/outbox.ts';

const tokens = { prometheus: 'p'.repeat(32), nvsentinel: 'n'.repeat(32), short: 'short' };
const opened: FastifyInstance[] = [];
let directory: string;
const tokenFile = (name: string) => join(directory, name);

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-senders-'));
  for (const [name, token] of Object.entries(tokens)) writeFileSync(tokenFile(name), `${token}\n`);
});
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});
afterAll(() => rmSync(directory, { recursive: true }));

/** The paths of senders on a server of their own, with the checks of the intake before them. */
function open({ perMinute = 200, burst = 50 } = {}) {
  const state = { takes: true, listed: true, clock: 0, leads: true };
  const calls: Call[] = [];
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const sender = {
    async send(call: Call) {
      if (!state.takes) throw new Error('UNAVAILABLE');
      calls.push(call);
    },
  };
  const { signal } = new AbortController();
  const outbox = openOutbox({ signal, backoff: { first: 1, most: 1 }, sender });
  const settings = controllerSettings.parse({
    external: {
      senders: [
        { name: 'prometheus', tokenFile: tokenFile('prometheus'), actions: ['contact-support'], codes: ['Gpu*'] },
        { name: 'nvsentinel', tokenFile: tokenFile('nvsentinel') },
        { name: 'short', tokenFile: tokenFile('short') },
        { name: 'missing', tokenFile: tokenFile('missing') },
      ],
    },
    intake: { limits: { faults: { perMinute }, requests: { perSecond: 0.1, burst } } },
  });
  const registry = new Registry();
  const never = () => 0;
  const readings = {
    leading: () => true,
    messagesWaiting: never,
    agentsLive: never,
    agentsSilent: () => [],
    quarantines: () => new Map(),
  };
  const metrics = controllerMetrics(registry, readings);
  const server = fastify({ bodyLimit: 1024 * 1024 });
  opened.push(server);
  const authenticate = authenticateSenders(settings.external.senders, { now: () => state.clock, log });
  const reject: Parameters<typeof takeExternalReports>[1]['reject'] = (reply, { rejection, because }) =>
    reply.code(rejections[rejection]).send({ error: rejection, because });
  const { senderOf } = guardRequests(server, {
    authenticate: Object.fromEntries(Object.keys(externalReaders).map((path) => [path, authenticate])),
    leading: () => state.leads,
    requests: openBuckets(settings.intake.limits.requests, () => performance.now()),
    reject,
  });
  const has = (node: string) => (state.listed ? node.startsWith('gpu-') : undefined);
  takeExternalReports(server, {
    settings: settings.external,
    limits: settings.intake.limits.faults,
    collector: () => ({ outbox, nodes: { has } }),
    senderOf,
    reject,
    onNodeFault: () => undefined,
    metrics,
    log,
  });
  return {
    state,
    calls,
    lines,
    faults: (): Fault[] =>
      calls.flatMap(({ signal: sent }) => (sent?.name === 'faultsObserved' ? sent.payload.faults : [])),
    metric: () => registry.getSingleMetricAsString('kcover_external_reports_total'),
    async post(body: unknown, token = tokens.prometheus, path = '') {
      const answer = await server.inject({
        method: 'POST',
        url: `/v1/external${path}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
    },
  };
}

const report = (more: object = {}) => ({
  source: 'alertmanager',
  node: 'gpu-1',
  code: 'GpuLost',
  action: 'contact-support',
  state: 'occur',
  at: new Date().toISOString(),
  text: 'GPU 3 is gone',
  ...more,
});

describe('a sender with its own token', () => {
  it('is answered 202 when Temporal has the fault, which starts the workflow of the node', async () => {
    const { post, calls, faults } = open();
    const answer = await post(report());
    expect(answer).toEqual({
      status: 202,
      body: { accepted: 1, repeated: 0, recovered: 0, history: 0, unusable: 0 },
    });
    expect(calls).toMatchObject([{ workflowId: 'node/gpu-1', starts: { kind: 'node', node: 'gpu-1' } }]);
    expect(faults()).toMatchObject([{ source: 'external', code: 'external/GpuLost', action: 'contact-support' }]);
  });

  it('that repeats a report is answered 202, and nothing is sent again', async () => {
    const { post, calls } = open();
    const same = report();
    await post([same, same]);
    expect((await post([same])).body).toMatchObject({ accepted: 0, repeated: 1 });
    expect(calls).toHaveLength(1);
  });

  it('that says a fault is over starts no workflow, unless a fault goes with it', async () => {
    const { post, calls, faults } = open();
    expect((await post(report({ state: 'recover' }))).body).toMatchObject({ accepted: 0, recovered: 1 });
    expect(calls).toHaveLength(1);
    expect(calls[0]).not.toHaveProperty('starts');
    await post([report({ code: 'GpuSlow', state: 'recover' }), report({ code: 'GpuSlow' })]);
    expect(calls.slice(1).some(({ starts }) => starts !== undefined)).toBe(true);
    expect(faults().map(({ code }) => code)).toEqual(['external/recovered', 'external/recovered', 'external/GpuSlow']);
  });

  it('learns what of its reports cannot be used, and the rest is taken', async () => {
    const { post, metric } = open();
    const old = report({ code: 'GpuOld', at: '2026-01-01T00:00:00Z' });
    expect(await post([report(), report({ node: 'cpu-1' }), report({ code: 'DiskFull' }), old])).toEqual({
      status: 202,
      body: {
        accepted: 1,
        repeated: 0,
        recovered: 0,
        history: 1,
        unusable: 2,
        because: [
          { what: 'GpuLost on cpu-1', because: 'there is no node cpu-1' },
          { what: 'DiskFull on gpu-1', because: 'prometheus may not report DiskFull' },
        ],
      },
    });
    expect(await metric()).toContain('kcover_external_reports_total{sender="prometheus",result="history"} 1');
  });

  it('is refused when nothing of it can be used', async () => {
    const { post, calls } = open();
    expect(await post(report({ code: 'DiskFull' }))).toEqual({
      status: 422,
      body: { error: 'not-usable', because: 'DiskFull on gpu-1: prometheus may not report DiskFull' },
    });
    expect(calls).toEqual([]);
  });

  it.each([
    ['a code with a slash', report({ code: 'a/b' })],
    ['a node that is no name', report({ node: '../../x' })],
    ['a field that is not known', report({ reboot: true })],
    ['another action', report({ action: 'rm' })],
    ['no time', report({ at: 'yesterday' })],
    ['an endless text', report({ text: 'x'.repeat(10_001) })],
    ['too many reports', Array.from({ length: 101 }, () => report())],
    ['no report', []],
    ['null', 'null'],
    ['no JSON', '{"source":'],
  ])('is refused with %s', async (_what, body) => {
    const { post, calls } = open();
    expect((await post(body)).status).toBe(400);
    expect(calls).toEqual([]);
  });

  it('is asked to send again while the nodes are not listed, or Temporal does not answer', async () => {
    const { post, state, calls } = open();
    state.listed = false;
    expect(await post(report())).toMatchObject({ status: 503, body: { error: 'kube-unreachable' } });
    state.listed = true;
    state.takes = false;
    expect(await post(report())).toMatchObject({ status: 503, body: { error: 'temporal-unreachable' } });
    state.takes = true;
    expect((await post(report())).body).toMatchObject({ accepted: 1 });
    expect(calls).toHaveLength(1);
  }, 20_000);

  it('that floods is asked to wait, and the fault of another is taken meanwhile', async () => {
    const { post, faults } = open({ perMinute: 20 });
    const flood = Array.from({ length: 100 }, (_, index) => report({ code: `Gpu-${index}` }));
    expect(await post(flood)).toMatchObject({ status: 429, body: { error: 'too-many' } });
    expect(faults()).toHaveLength(20);
    expect((await post(report(), tokens.nvsentinel)).body).toMatchObject({ accepted: 1 });
  });

  it('that asks too often is refused before its body is read', async () => {
    const { post } = open({ burst: 3 });
    const answers = [];
    for (let index = 0; index < 5; index += 1) answers.push((await post('{"')).status);
    expect(answers).toEqual([400, 400, 400, 429, 429]);
  });
});

describe('a request without a valid token', () => {
  it.each([
    ['of another program', 'x'.repeat(32)],
    ['that is a part of one', tokens.prometheus.slice(1)],
    ['that is too short to be used', tokens.short],
    ['that is empty', ''],
    ['of 100,000 characters', 'p'.repeat(100_000)],
  ])('%s is refused', async (_what, token) => {
    const { post, calls } = open();
    expect(await post(report(), token)).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
    expect(calls).toEqual([]);
  });

  it('is refused until the new token is in the file of its sender', async () => {
    const { post, state } = open();
    const token = 'q'.repeat(40);
    expect((await post(report(), token)).status).toBe(401);
    writeFileSync(tokenFile('missing'), token);
    state.clock = 10_001;
    expect((await post(report(), token)).status).toBe(202);
    rmSync(tokenFile('missing'));
    state.clock = 20_002;
    expect((await post(report(), token)).status).toBe(401);
  });

  it('is told apart in the log from a sender whose token cannot be used', async () => {
    const { post, lines } = open();
    await post(report());
    await post(report());
    const because = lines.map((line) => (JSON.parse(line) as { sender?: string; because: string }).because);
    expect(because.toSorted()).toEqual([
      'its token has fewer than 20 characters',
      'the file of its token cannot be read',
    ]);
  });
});
