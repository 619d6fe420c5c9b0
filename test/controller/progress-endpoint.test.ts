import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { logPath, type LogReport, type LogReports } from '../../contract/progress/logs.ts';
import { type ProgressFile, progressPath } from '../../contract/progress/progress.ts';
import { rejections } from '../../contract/wire/reports.ts';
import { takeProgress } from '../../controller/progress/endpoint.ts';

const file = (rank: number, more: object = {}) => ({
  namespace: 'train',
  job: 'llm',
  rank,
  writtenAt: '2026-11-21T07:00:00.250Z',
  progress: { step: 1200, at: '2026-11-21T07:00:00.000Z' },
  ...more,
});

let server: FastifyInstance;
let state: { leads: boolean; isUpToDate: boolean; known: boolean };
let taken: ProgressFile[];
let takenLogs: LogReport[];

beforeEach(() => {
  state = { leads: true, isUpToDate: true, known: true };
  taken = [];
  takenLogs = [];
  server = fastify();
  const taker = {
    isUpToDate: () => state.isUpToDate,
    wantedLogs: () => [],
    restartOf: () => undefined,
    answerRestart: async () => false,
    takeLogs({ logs }: Pick<LogReports, 'logs'>) {
      takenLogs.push(...logs);
      return logs.map(({ pod }) => (pod === 'mine' ? ('counted' as const) : ('no-pod' as const)));
    },
    takeStep: () => 'counted' as const,
    take(given: ProgressFile) {
      taken.push(given);
      return given.rank < 10 ? ('counted' as const) : ('stale' as const);
    },
  };
  takeProgress(server, {
    progress: () => (state.leads ? taker : undefined),
    reporterOf: () => (state.known ? { kind: 'reporter', node: 'gpu-1', podUid: 'agent' } : undefined),
    reject: (reply, { rejection, because }) => reply.code(rejections[rejection]).send({ error: rejection, because }),
  });
});
afterEach(() => server.close());

async function send(...files: unknown[]) {
  return sendBody({ schema: 1, node: 'gpu-1', files });
}
async function sendBody(payload: object) {
  const answer = await server.inject({ method: 'POST', url: progressPath, payload });
  return { status: answer.statusCode, body: answer.json<{ error?: string; counted?: boolean[] }>() };
}

describe('the intake of progress files', () => {
  it('says of each whether it counts', async () => {
    expect(await send(file(0), file(12), file(1))).toEqual({ status: 200, body: { counted: [true, false, true] } });
    expect(taken.map(({ rank }) => rank)).toEqual([0, 12, 1]);
  });

  it.each<[string, object]>([
    ['a field that it does not know', file(0, { phase: 'training' })],
    ['a step that is no integer', file(0, { progress: { step: 1.5, at: '2026-11-21T07:00:00Z' } })],
    ['a rank that no job has', file(10_000)],
    ['a name that no namespace has', file(0, { namespace: '../train' })],
    ['a time that is none', file(0, { writtenAt: 'now' })],
  ])('refuses %s', async (_sentence, given) => {
    expect(await send(given)).toMatchObject({ status: 400, body: { error: 'malformed' } });
    expect(taken).toEqual([]);
  });

  it('refuses more files than a request may have', async () => {
    expect((await send(...Array.from({ length: 100 }, (_, rank) => file(rank)))).status).toBe(200);
    expect((await send(...Array.from({ length: 101 }, (_, rank) => file(rank)))).status).toBe(400);
  });

  it('refuses the files of another node', async () => {
    expect(await sendBody({ schema: 1, node: 'gpu-2', files: [file(0)] })).toMatchObject({
      status: 403,
      body: { error: 'other-node' },
    });
  });

  it.each<[string, Partial<typeof state>, number, string]>([
    ['rejects an unauthenticated sender', { known: false }, 401, 'unauthenticated'],
    ['sends the agent to the leader when it does not lead', { leads: false }, 503, 'not-leading'],
    ['asks for the files again while it has not listed the pods', { isUpToDate: false }, 503, 'kube-unreachable'],
  ])('%s', async (_sentence, given, status, error) => {
    Object.assign(state, given);
    expect(await send(file(0))).toMatchObject({ status, body: { error } });
    expect(taken).toEqual([]);
  });
});

const watchdog = (group: string) => ({ at: '2026-11-21T07:00:00Z', what: 'timeout', rank: 3, group });

describe('the intake of what logs say', () => {
  const report = (pod: string, more: object = {}) => ({ pod, at: '2026-11-21T07:00:00.250Z', step: 7, ...more });
  async function sendLogs(more: object) {
    const payload = { schema: 1, node: 'gpu-1', read: ['mine'], logs: [], ...more };
    const answer = await server.inject({ method: 'POST', url: logPath, payload });
    return { status: answer.statusCode, body: answer.json<{ error?: string; counted?: boolean[] }>() };
  }

  it('says of each log whether it counts', async () => {
    expect(await sendLogs({ logs: [report('mine'), report('other')] })).toEqual({
      status: 200,
      body: { counted: [true, false] },
    });
    expect(takenLogs.map(({ pod }) => pod)).toEqual(['mine', 'other']);
  });

  it.each<[string, object]>([
    ['text that it does not know', { logs: [report('mine', { line: 'secret' })] }],
    ['a step that is no integer', { logs: [report('mine', { step: -1 })] }],
    ['a watchdog with text of several lines', { logs: [report('mine', { watchdogs: [watchdog('a\nb')] })] }],
    ['more watchdogs than a report may have', { logs: [report('mine', { watchdogs: Array(17).fill(watchdog('a')) })] }],
    ['more logs than a node may have', { logs: Array.from({ length: 33 }, () => report('mine')) }],
    ['a pod that cannot be one', { read: ['../etc'] }],
  ])('refuses %s', async (_sentence, more) => {
    expect(await sendLogs(more)).toMatchObject({ status: 400, body: { error: 'malformed' } });
    expect(takenLogs).toEqual([]);
  });

  it('refuses those of another node', async () => {
    expect(await sendLogs({ node: 'gpu-2' })).toMatchObject({ status: 403, body: { error: 'other-node' } });
  });
});
