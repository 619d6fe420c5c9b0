import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import fastify, { type FastifyInstance } from 'fastify';
import { trainerStatusPath } from '../../contract/progress/trainer-status.ts';
import { rejections } from '../../contract/wire/reports.ts';
import { takeTrainerStatus } from '../../controller/progress/trainer-status.ts';

/** As `KubeflowCallback` of transformers sends it at the end of a step: every value is a string. */
const status = (metrics: readonly { name: string; value: string }[]) => ({
  trainerStatus: {
    lastUpdatedTime: '2026-11-22T10:00:00.123456+00:00',
    progressPercentage: 12,
    estimatedRemainingSeconds: 3600,
    metrics,
  },
});
const steps = (value: string) => [
  { name: 'loss', value: '1.234' },
  { name: 'current_step', value },
  { name: 'total_steps', value: '1000' },
  { name: 'current_epoch', value: '0.12' },
];

let server: FastifyInstance;
let state: { leads: boolean; isUpToDate: boolean; known: boolean };
let taken: [string, number][];

beforeEach(() => {
  state = { leads: true, isUpToDate: true, known: true };
  taken = [];
  server = fastify();
  const taker = {
    isUpToDate: () => state.isUpToDate,
    take: () => 'no-pod' as const,
    takeLogs: () => [],
    wantedLogs: () => [],
    restartOf: () => undefined,
    answerRestart: async () => false,
    takeStep(pod: string, step: number) {
      taken.push([pod, step]);
      return 'counted' as const;
    },
  };
  takeTrainerStatus(server, {
    progress: () => (state.leads ? taker : undefined),
    reporterOf: () => (state.known ? { kind: 'reporter', node: 'gpu-1', podUid: 'rank-0' } : undefined),
    reject: (reply, { rejection, because }) => reply.code(rejections[rejection]).send({ error: rejection, because }),
  });
});
afterEach(() => server.close());

async function send(payload: unknown) {
  const headers = { 'content-type': 'application/json' };
  const answer = await server.inject({
    method: 'POST',
    url: trainerStatusPath,
    headers,
    payload: JSON.stringify(payload),
  });
  return { status: answer.statusCode, body: answer.json<{ error?: string; counted?: boolean }>() };
}

describe('the status that a trainer reports over HTTP', () => {
  it('counts as a step of the pod that sent it', async () => {
    expect(await send(status(steps('120')))).toEqual({ status: 200, body: { counted: true } });
    expect(taken).toEqual([['rank-0', 120]]);
  });

  it('counts where the real Trainer of Hugging Face sends it, whose first and last report have no step', async () => {
    const recorded = JSON.parse(
      readFileSync(new URL('../fixtures/huggingface-status.json', import.meta.url), 'utf8'),
    ) as { readonly requests: readonly { readonly contentType: string; readonly body: string }[] };
    const counted = [];
    for (const { contentType, body } of recorded.requests) {
      const headers = { 'content-type': contentType };
      const answer = await server.inject({ method: 'POST', url: trainerStatusPath, headers, payload: body });
      expect(answer.statusCode).toBe(200);
      counted.push(answer.json<{ counted: boolean }>().counted);
    }
    expect(counted).toEqual([false, true, true, true, false]);
    expect(taken.map(([, step]) => step)).toEqual([5, 11, 17]);
  });

  it.each<[string, object]>([
    ['before the first step', status([{ name: 'total_steps', value: '1000' }])],
    ['without metrics', { trainerStatus: { progressPercentage: 0 } }],
  ])('is accepted %s, and is no step', async (_when, body) => {
    expect(await send(body)).toEqual({ status: 200, body: { counted: false } });
    expect(taken).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['a step that is no number', status(steps('-1'))],
    ['a step that is too large', status(steps('9'.repeat(16)))],
    ['a step that is a number of JSON', status([{ name: 'current_step', value: 7 as never }])],
    ['endless metrics', status(Array.from({ length: 257 }, () => ({ name: 'x', value: 'y' })))],
    ['another body', { trainerStatus: null }],
    ['null', null],
  ])('is refused with %s', async (_what, body) => {
    expect((await send(body)).status).toBe(400);
    expect(taken).toEqual([]);
  });

  it.each<[string, Partial<typeof state>, number, string]>([
    ['of an unauthenticated sender is refused', { known: false }, 401, 'unauthenticated'],
    ['is for the leader', { leads: false }, 503, 'not-leading'],
    ['is asked for again while the pods are not listed', { isUpToDate: false }, 503, 'kube-unreachable'],
  ])('%s', async (_sentence, given, code, error) => {
    Object.assign(state, given);
    expect(await send(status(steps('120')))).toMatchObject({ status: code, body: { error } });
  });
});
