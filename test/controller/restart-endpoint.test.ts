import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { restartPath, type RestartAnswer } from '../../contract/progress/restart.ts';
import { trainerStatusPath } from '../../contract/progress/trainer-status.ts';
import { rejections } from '../../contract/wire/reports.ts';
import { takeRestartAnswers } from '../../controller/progress/restart-endpoint.ts';
import { takeTrainerStatus } from '../../controller/progress/trainer-status.ts';

const recover = { id: 'i#1', reason: 'exit code 1', deadline: '2026-11-21T07:12:00Z' };

let server: FastifyInstance;
let state: { leads: boolean; isUpToDate: boolean; known: boolean; asked: boolean; kube: boolean };
let answers: [string, RestartAnswer][];

beforeEach(() => {
  state = { leads: true, isUpToDate: true, known: true, asked: true, kube: true };
  answers = [];
  server = fastify();
  const taker = {
    isUpToDate: () => state.isUpToDate,
    take: () => 'no-pod' as const,
    takeLogs: () => [],
    wantedLogs: () => [],
    takeStep: () => 'counted' as const,
    restartOf: (pod: string) => (state.asked && pod === 'rank-0' ? recover : undefined),
    async answerRestart(pod: string, answer: RestartAnswer) {
      if (!state.kube) throw new Error('the API server is gone');
      answers.push([pod, answer]);
      return state.asked;
    },
  };
  const endpoint: Parameters<typeof takeRestartAnswers>[1] = {
    progress: () => (state.leads ? taker : undefined),
    reporterOf: () => (state.known ? { kind: 'reporter', node: 'gpu-1', podUid: 'rank-0' } : undefined),
    reject: (reply, { rejection, because }) => reply.code(rejections[rejection]).send({ error: rejection, because }),
  };
  takeRestartAnswers(server, endpoint);
  takeTrainerStatus(server, endpoint);
});
afterEach(() => server.close());

async function ask(method: 'GET' | 'POST', url: string, payload?: object) {
  const answer = await server.inject({ method, url, ...(payload && { payload }) });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
}

describe('a training pod', () => {
  it('reads the question that it is asked, by itself or with the answer to its progress', async () => {
    expect(await ask('GET', restartPath)).toEqual({ status: 200, body: { recover } });
    const metrics = [{ name: 'current_step', value: '7' }];
    expect(await ask('POST', trainerStatusPath, { trainerStatus: { metrics } })).toEqual({
      status: 200,
      body: { counted: true, recover },
    });
    state.asked = false;
    expect(await ask('GET', restartPath)).toEqual({ status: 200, body: {} });
  });

  it('answers for itself', async () => {
    expect(
      await ask('POST', restartPath, { id: 'i#1', status: 'refused', because: 'no\nmemory', pod: 'rank-1' }),
    ).toEqual({ status: 200, body: { recorded: true } });
    expect(answers).toEqual([['rank-0', { id: 'i#1', status: 'refused', because: 'no memory' }]]);
    state.asked = false;
    expect(await ask('POST', restartPath, { id: 'i#1', status: 'done' })).toMatchObject({ body: { recorded: false } });
  });

  it.each<[string, object]>([
    ['another status', { id: 'i#1', status: 'maybe' }],
    ['no question', { status: 'done' }],
    ['a question without end', { id: 'i'.repeat(601), status: 'done' }],
    ['a reason without end', { id: 'i#1', status: 'refused', because: 'x'.repeat(2000) }],
    ['another body', []],
  ])('may not answer with %s', async (_what, body) => {
    expect((await ask('POST', restartPath, body)).status).toBe(400);
    expect(answers).toEqual([]);
  });

  it('sends an answer again that could not be written to its job', async () => {
    state.kube = false;
    expect(await ask('POST', restartPath, { id: 'i#1', status: 'done' })).toMatchObject({
      status: 503,
      body: { error: 'kube-unreachable' },
    });
  });

  it.each<[string, Partial<typeof state>, number, string]>([
    ['is refused without a token', { known: false }, 401, 'unauthenticated'],
    ['asks the leader', { leads: false }, 503, 'not-leading'],
    ['asks again while the pods are not listed', { isUpToDate: false }, 503, 'kube-unreachable'],
  ])('%s', async (_sentence, given, status, error) => {
    Object.assign(state, given);
    expect(await ask('GET', restartPath)).toMatchObject({ status, body: { error } });
    expect(await ask('POST', restartPath, { id: 'i#1', status: 'done' })).toMatchObject({ status, body: { error } });
    expect(answers).toEqual([]);
  });
});
