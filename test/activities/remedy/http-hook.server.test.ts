import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/rig.ts';
import { remedyRig, type RemedyRig } from './remedy-rig.ts';
import {
  answers,
  type Behaviour,
  hangsUp,
  staysSilent,
  unreliableServer,
  type UnreliableServer,
} from './unreliable-server.ts';

const token = `secret-${randomUUID()}`;
const tokenFile = join(mkdtempSync(join(tmpdir(), 'token-')), 'token');
writeFileSync(tokenFile, `${token}\n`);

let server: UnreliableServer;
let other: UnreliableServer;
let rig: RemedyRig;
beforeAll(async () => {
  [server, other] = await Promise.all([unreliableServer(), unreliableServer()]);
  const closed = await unreliableServer();
  await closed.close();
  const absent = `${closed.url}/repair`;
  const url = `${server.url}/repair`;
  const look = `${server.url}/repairs/{operation}`;
  const plain = { kind: 'http', url, poll: '50ms' };
  rig = await remedyRig({
    plain,
    looking: { ...plain, look },
    repeated: { ...plain, idempotent: true },
    both: { ...plain, look, idempotent: true },
    secret: { ...plain, tokenFile },
    tokenless: { ...plain, tokenFile: '/nowhere/token' },
    absent: { ...plain, url: absent },
  });
});
afterAll(async () => {
  await rig.close();
  await Promise.all([server.close(), other.close()]);
});

/** Runs the hook against a server that answers so, and what the server saw. */
async function run(hook: string, behaviours: readonly Behaviour[], timeoutMs = 20_000) {
  const request = rig.request(hook, { timeoutMs });
  server.behave(request.operation, ...behaviours);
  const result = await rig.cluster.run('runHook', request);
  const seen = server.seen(request.operation);
  return { result, request, seen, methods: seen.map(({ method }) => method).join(' ') };
}

describe('a hook that is an HTTP request', () => {
  it('says which operation it is, on which machine and why, and takes the final answer', async () => {
    const { result, request, seen } = await run('secret', [
      answers(200, { verdict: 'passed', because: 'power-cycled', reference: 'INC-7' }),
    ]);
    expect(result).toEqual({ verdict: 'passed', because: 'power-cycled', reference: 'INC-7' });
    const [{ headers, body } = { headers: {}, body: '' }] = seen;
    expect(headers).toMatchObject({ authorization: `Bearer ${token}`, 'idempotency-key': request.operation });
    const { operation, node, systemUuid, incident, codes, devices } = request;
    expect(JSON.parse(body)).toEqual({ operation, node, systemUuid, incident, codes, devices });
  });

  it.each<[string, Behaviour, string, unknown]>([
    ['a ticket', answers(201, { id: 7 }), 'passed', 'it says passed'],
    ['nothing', answers(204), 'passed', 'HTTP 204'],
    ['a failure', answers(200, { verdict: 'failed', because: 'PSU' }), 'failed', 'PSU'],
    ['that it is busy', answers(409, 'in maintenance'), 'busy', 'HTTP 409: in maintenance'],
    ['that it has too much to do', answers(429), 'busy', 'HTTP 429'],
    ['a refusal', answers(422, 'no such node'), 'failed', 'HTTP 422: no such node'],
    ['a redirect', answers(307, '', { location: '/elsewhere' }), 'failed', 'HTTP 307'],
    ['another node', answers(200, { node: 'gpu-other' }), 'failed', expect.stringContaining('gpu-other')],
    ['another operation', answers(200, { operation: 'x' }), 'failed', expect.stringContaining('operation x')],
    ['a page', answers(200, '<html>log in</html>'), 'unknown', expect.stringContaining('no JSON')],
    [
      'an endless body',
      answers(200, `{"because":"${'x'.repeat(70_000)}"}`),
      'unknown',
      expect.stringContaining('64 KiB'),
    ],
    ['an unknown verdict', answers(200, { verdict: 'great' }), 'unknown', expect.stringContaining('cannot be read')],
    ['a status of its own', answers(206, '{}'), 'unknown', expect.stringContaining('HTTP 206')],
    ['nothing to look at', answers(202), 'unknown', expect.stringContaining('set look')],
    ['an error', answers(503, 'a proxy'), 'unknown', 'whether it acted is not known: HTTP 503: a proxy'],
    ['no answer', hangsUp, 'unknown', expect.stringContaining('whether it acted is not known')],
  ])('sends once and gets %s', async (_, behaviour, verdict, because) => {
    const { result, methods } = await run('plain', [behaviour]);
    expect(result).toMatchObject({ verdict, because });
    expect(methods).toBe('POST');
  });

  it('does not wait for an answer beyond its time', async () => {
    const { result, methods } = await run('plain', [staysSilent], 1500);
    expect(result).toMatchObject({ verdict: 'unknown', because: expect.stringContaining('no answer in time') });
    expect(methods).toBe('POST');
  });

  it('follows no redirect, so that its token goes to no other server', async () => {
    const { result } = await run('secret', [answers(308, '', { location: `${other.url}/repair` })]);
    expect(result.verdict).toBe('failed');
    expect(other.seen('repair')).toEqual([]);
  });

  it('repeats neither its token nor control characters of the server', async () => {
    const { result } = await run('secret', [
      (response, { headers }) =>
        answers(400, `\u001b[2J${headers.authorization}`)(response, { method: '', url: '', headers, body: '' }),
    ]);
    expect(JSON.stringify(result)).not.toContain(token);
    expect(result.because).toMatch(/^HTTP 400: [ -~]*$/);
  });

  it.each([
    ['absent', /^127.0.0.1:\d+ could not be reached in time$/],
    ['tokenless', /^it was not begun: .*\/nowhere\/token/],
  ])('that could not be sent has failed: %s', async (hook, because) => {
    expect(await rig.cluster.run('runHook', rig.request(hook, { timeoutMs: 1000 }))).toMatchObject({
      verdict: 'failed',
      because: expect.stringMatching(because),
    });
  });
});

describe('an operation that goes on', () => {
  it('is looked at until it ends, also while the server fails', async () => {
    const { result, methods, seen, request } = await run('looking', [
      answers(202),
      answers(404),
      hangsUp,
      answers(502),
      answers(202),
      answers(200, { because: 'up again' }),
    ]);
    expect(result).toMatchObject({ verdict: 'passed', because: 'up again' });
    expect(methods).toBe('POST GET GET GET GET GET');
    expect(seen[1]?.url).toBe(`/repairs/${request.operation}`);
  });

  it('is found where the server says, if that is the same server', async () => {
    const follows: Behaviour = (response, { headers }) =>
      answers(202, '', { location: `/state/${String(headers['idempotency-key'])}` })(response, {
        method: '',
        url: '',
        headers,
        body: '',
      });
    expect((await run('plain', [follows, answers(200, {})])).methods).toBe('POST GET');
    const leads = await run('plain', [answers(202, '', { location: `${other.url}/state/x` })]);
    expect(leads.result).toMatchObject({ verdict: 'unknown' });
    expect(other.seen('x')).toEqual([]);
  });

  it('is unknown when its time is over', async () => {
    const { result } = await run('looking', [answers(202)], 1500);
    expect(result).toMatchObject({ verdict: 'unknown', because: expect.stringContaining('did not end within 1.5s') });
  });

  it('ends when its activity is cancelled', async () => {
    const request = rig.request('looking', { timeoutMs: 600_000 });
    server.behave(request.operation, answers(202));
    const started = await rig.start(request);
    await eventually(
      async () => server.seen(request.operation).length,
      (count) => count > 2,
    );
    await started().cancel('released');
    await expect(started().result()).resolves.toMatchObject({
      verdict: 'unknown',
      because: expect.stringContaining(`operation ${request.operation} of 127.0.0.1`),
    });
  });
});

describe('a request whose answer is lost', () => {
  it.each<[string, string, Behaviour[], string, string]>([
    ['is looked for', 'looking', [hangsUp, answers(200, {})], 'POST GET', 'passed'],
    ['is unknown where the server does not know it', 'looking', [answers(500), answers(404)], 'POST GET', 'unknown'],
    ['is unknown where it may not be looked for', 'looking', [answers(500), answers(403)], 'POST GET', 'unknown'],
    [
      'is sent again where that does no harm',
      'repeated',
      [answers(500), hangsUp, answers(200, {})],
      'POST POST POST',
      'passed',
    ],
    [
      'is sent again where the server does not know it',
      'both',
      [hangsUp, answers(404), answers(200, {})],
      'POST GET POST',
      'passed',
    ],
  ])('%s', async (_, hook, behaviours, methods, verdict) => {
    const seen = await run(hook, behaviours);
    expect({ methods: seen.methods, verdict: seen.result.verdict }).toEqual({ methods, verdict });
  });
});

describe('a later try', () => {
  const replaced = async (hook: string, then: Behaviour) => {
    const request = rig.request(hook, { timeoutMs: 60_000 });
    server.behave(request.operation, staysSilent, then);
    const started = await rig.start(request);
    await eventually(
      async () => server.seen(request.operation).length,
      (count) => count === 1,
    );
    await rig.replaceWorker();
    const result = await started().result();
    return {
      result,
      methods: server
        .seen(request.operation)
        .map(({ method }) => method)
        .join(' '),
    };
  };

  it.each([
    ['looks', 'looking', 'POST GET', 'passed'],
    ['does not send again', 'plain', 'POST', 'unknown'],
    ['sends again where that does no harm', 'repeated', 'POST POST', 'passed'],
  ])('%s', async (_, hook, methods, verdict) => {
    const seen = await replaced(hook, answers(200, {}));
    expect({ methods: seen.methods, verdict: seen.result.verdict }).toEqual({ methods, verdict });
  });
});
