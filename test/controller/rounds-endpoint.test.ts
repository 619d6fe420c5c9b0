import { afterEach, describe, expect, it } from '@jest/globals';
import fastify from 'fastify';
import { roundsAudience, roundsPath } from '../../contract/preflight/rounds.ts';
import { rejections } from '../../contract/wire/reports.ts';
import { authenticator } from '../../controller/intake/authenticate.ts';
import { guardRequests } from '../../controller/intake/request-guard.ts';
import type { Reject } from '../../controller/intake/refusals.ts';
import { openRounds } from '../../controller/preflight/rounds/endpoint.ts';
import { beginRounds, type Rounds } from '../../controller/preflight/rounds/polls.ts';
import type { RoundPod } from '../../controller/preflight/rounds/run.ts';
import { openBuckets } from '../../controller/intake/token-bucket.ts';
import { until } from '../../testbed/until.ts';
import { serviceToken } from '../support/service-token.ts';

const workload = { namespace: 'train', name: 'llm', uid: 'workload' };
const log = { info: () => undefined };
const asking = (rank: number, more: object = {}) => ({
  schema: 1,
  size: 2,
  address: `10.0.0.${rank}:29400`,
  results: [],
  ...more,
});

const tokenOf = (name: string) =>
  serviceToken(
    {
      audience: name === 'agent' ? 'kcover-controller' : roundsAudience,
      account: 'train:default',
      pod: { name, uid: name },
    },
    name,
  );
const nameIn = (token: string): string => token.split('.')[2] ?? '';

/** Two pods and their tokens `rank-0` and `rank-1`; `agent` is good for another audience, `idle` of a pod that tests nothing. */
function cluster(pollMs?: number) {
  const pods = new Map(
    [0, 1].map((rank): [string, RoundPod] => [
      `pod-${rank}`,
      { uid: `pod-${rank}`, workload, rank, node: `gpu-${rank}`, createdAt: '2026-11-21T07:00:00Z' },
    ]),
  );
  const refusals: string[] = [];
  let term: { readonly rounds: Rounds; readonly over: AbortController } | undefined;
  const uidOf = (name: string) => name.replace('rank', 'pod');
  const nodeOf = (name: string) => name.replace('rank', 'gpu');
  const server = fastify({ logger: false });
  const reject: Reject = (reply, { rejection, because }) => {
    refusals.push(rejection);
    return reply.code(rejections[rejection]).send({ error: rejection, because });
  };
  const preflights = authenticator({
    audience: roundsAudience,
    now: () => performance.now(),
    source: {
      review: async (token) => ({
        authenticated: true,
        user: 'system:serviceaccount:train:default',
        pod: { name: nameIn(token), uid: uidOf(nameIn(token)) },
        node: nodeOf(nameIn(token)),
      }),
      pod: async (_namespace, name) => ({ uid: uidOf(name), node: nodeOf(name), dead: false }),
    },
  });
  const requests = openBuckets({ perSecond: 1, burst: 100 }, () => performance.now());
  const { reporterOf } = guardRequests(server, {
    authenticate: { [roundsPath]: preflights },
    leading: () => term !== undefined,
    requests,
    reject,
  });
  openRounds(server, { rounds: () => term?.rounds, reporterOf, reject });
  function lead(): Rounds {
    const over = new AbortController();
    const settings = { rounds: 'fixed', most: 1, within: 300_000 } as const;
    const rounds = beginRounds({
      settings,
      podOf: (uid) => pods.get(uid),
      signal: over.signal,
      log,
      ...(pollMs !== undefined && { pollMs }),
    });
    term = { rounds, over };
    return rounds;
  }
  lead();
  opened.push(server);
  return {
    pods,
    refusals,
    lead,
    lose(): void {
      term?.over.abort();
      term = undefined;
    },
    waiting: (count: number) =>
      until('requests are held', 5000, async () =>
        term?.rounds.waiting() === count ? { found: true } : { missing: `${term?.rounds.waiting()} are` },
      ),
    async post(token: string | undefined, body: unknown): Promise<{ status: number; body: unknown }> {
      const headers = {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${tokenOf(token)}` }),
      };
      const answer = await server.inject({
        method: 'POST',
        url: roundsPath,
        headers,
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return { status: answer.statusCode, body: answer.json() };
    },
  };
}

const opened: ReturnType<typeof fastify>[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

describe('the rounds endpoint', () => {
  it('holds the first rank until the other has come, and gives each the other', async () => {
    const { post, waiting } = cluster();
    const first = post('rank-0', asking(0));
    await waiting(1);
    expect(await post('rank-1', asking(1))).toEqual({
      status: 200,
      body: { kind: 'round', round: 0, peer: { rank: 0, node: 'gpu-0', address: '10.0.0.0:29400' }, lead: false },
    });
    expect(await first).toMatchObject({ status: 200, body: { kind: 'round', peer: { rank: 1 }, lead: true } });
  });

  it('says `wait` when nothing came in time', async () => {
    expect(await cluster(20).post('rank-0', asking(0))).toEqual({
      status: 200,
      body: { kind: 'wait', because: 'round 0 waits for rank 1' },
    });
  });

  it('holds one request for each pod: a second one ends the first', async () => {
    const { post, waiting } = cluster();
    const first = post('rank-0', asking(0));
    await waiting(1);
    const second = post('rank-0', asking(0));
    expect(await first).toMatchObject({ body: { kind: 'wait' } });
    await waiting(1);
    await post('rank-1', asking(1));
    expect(await second).toMatchObject({ body: { kind: 'round' } });
  });

  it('ends held requests when it no longer leads, and the next leader continues from the next requests', async () => {
    const { post, waiting, lose, lead } = cluster();
    const first = post('rank-0', asking(0));
    await waiting(1);
    lose();
    expect(await first).toMatchObject({ status: 503, body: { error: 'not-leading' } });
    expect(await post('rank-1', asking(1))).toMatchObject({ status: 503, body: { error: 'not-leading' } });
    lead();
    const [one, other] = await Promise.all([post('rank-0', asking(0)), post('rank-1', asking(1))]);
    expect([one.body, other.body]).toMatchObject([{ kind: 'round' }, { kind: 'round' }]);
  });

  it('knows a pod that its watch reports a moment later', async () => {
    const { post, pods, waiting } = cluster();
    const late = pods.get('pod-0');
    pods.delete('pod-0');
    const first = post('rank-0', asking(0));
    if (late) pods.set('pod-0', late);
    await waiting(1);
    await post('rank-1', asking(1));
    expect(await first).toMatchObject({ status: 200 });
  });

  it.each<[string, string | undefined, unknown, number, string]>([
    ['no token', undefined, asking(0), 401, 'unauthenticated'],
    ["an agent's token", 'agent', asking(0), 401, 'unauthenticated'],
    ['what is no JSON', 'rank-0', '{"schema":', 400, ''],
    ['no size', 'rank-0', { schema: 1, address: '10.0.0.1:1', results: [] }, 400, 'malformed'],
    ['one rank alone', 'rank-0', asking(0, { size: 1 }), 400, 'malformed'],
    ['an address without a port', 'rank-0', asking(0, { address: '10.0.0.1' }), 400, 'malformed'],
    ['a gap in the rounds', 'rank-0', asking(0, { results: [{ round: 1, status: 'skip' }] }), 400, 'malformed'],
    [
      'a partner beyond the size',
      'rank-0',
      asking(0, { results: [{ round: 0, peer: 2, status: 'ok' }] }),
      400,
      'malformed',
    ],
    [
      'a bandwidth below zero',
      'rank-0',
      asking(0, { results: [{ round: 0, peer: 1, status: 'ok', gbps: -1 }] }),
      400,
      'malformed',
    ],
    [
      'more rounds than there are',
      'rank-0',
      asking(0, { results: Array.from({ length: 17 }, (_, round) => ({ round, status: 'skip' })) }),
      400,
      'malformed',
    ],
    ['more than a request may have', 'rank-0', JSON.stringify({ filler: 'x'.repeat(40_000) }), 413, ''],
    ['a size below its rank', 'rank-1', asking(1, { size: 2, results: [] }), 409, 'other-size'],
  ])('refuses %s', async (sentence, token, body, status, error) => {
    const { post, refusals, pods } = cluster();
    if (sentence === 'a size below its rank')
      pods.set('pod-1', { uid: 'pod-1', workload, rank: 2, node: 'gpu-1', createdAt: '' });
    expect(await post(token, body)).toMatchObject({
      status,
      ...(error !== '' && { body: { error, because: expect.any(String) } }),
    });
    if (error !== '') expect(refusals).toEqual([error]);
  });

  it('does not take pods of another namespace for those of a workload whose UID their label names', async () => {
    const { post, pods } = cluster(20);
    pods.set('pod-1', {
      uid: 'pod-1',
      workload: { ...workload, namespace: 'others' },
      rank: 1,
      node: 'gpu-1',
      createdAt: '2026-11-21T07:00:00Z',
    });
    const answers = await Promise.all([post('rank-0', asking(0)), post('rank-1', asking(1))]);
    expect(answers).toMatchObject([{ body: { kind: 'wait' } }, { body: { kind: 'wait' } }]);
  });

  it('refuses a pod that tests nothing', async () => {
    expect(await cluster(20).post('idle', asking(0))).toMatchObject({ status: 403, body: { error: 'not-testing' } });
  });
});
