import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
import { generate } from 'selfsigned';
import {
  type PreflightAnswer,
  type PreflightFile,
  preflightPath,
  type RefusedReport,
} from '../../../contract/preflight/files.ts';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import { rememberAgents } from '../../../controller/intake/agents.ts';
import type { Authenticate } from '../../../controller/intake/authenticate.ts';
import { openOutbox } from '../../../controller/outbox/outbox.ts';
import { openIntake } from '../../../controller/intake/intake.ts';
import type { Call } from '../../../controller/outbox/messages.ts';
import { controllerMetrics } from '../../../controller/metrics.ts';
import { openPodTable } from '../../../controller/preflight/pod-table.ts';
import { refused } from '../../../controller/intake/reporter.ts';
import type { PreflightPod } from '../../../kube/pods/preflight-pods.ts';

const pod = (rank: number): PreflightPod => ({
  uid: `uid-${rank}`,
  name: `llm-${rank}`,
  namespace: 'train',
  createdAt: '2026-11-21T06:59:00Z',
  node: 'gpu-1',
  workload: { namespace: 'train', name: 'llm', uid: 'w1' },
  rank,
  tests: [{ from: '2026-11-21T07:00:00Z', until: '2026-11-21T07:02:00Z' }],
  testing: false,
  terminating: false,
  accelerators: { 'nvidia.com/gpu': 8 },
  over: false,
});
const place = (rank: number) => ({ namespace: 'train', workload: 'llm', rank, writtenAt: '2026-11-21T07:01:00.000Z' });
const report = (rank: number, node = 'gpu-1') => ({ size: 50, rank, node, address: '', tests: [] });
const file = (rank: number): PreflightFile => ({ ...place(rank), report: report(rank) });

const agents: Authenticate = async (authorization) =>
  authorization === 'Bearer agent'
    ? { kind: 'reporter', node: 'gpu-1', podUid: 'agent' }
    : refused('unauthenticated', 'a bearer token is needed');
const rounds = { next: async () => refused('not-testing', 'no pod tests'), waiting: () => 0 };

let certificate: { cert: string; key: string };
let server: FastifyInstance;
let registry: Registry;
let calls: Call[];
let leads: boolean;
let temporalTakes: boolean;
let announced: boolean;

beforeAll(async () => {
  const made = await generate([{ name: 'commonName', value: 'localhost' }]);
  certificate = { cert: made.cert, key: made.private };
});

beforeEach(async () => {
  await server?.close();
  registry = new Registry();
  calls = [];
  [leads, temporalTakes, announced] = [true, true, true];
  const ending = new AbortController();
  const outbox = openOutbox({
    signal: ending.signal,
    sender: {
      async send(call) {
        calls.push(call);
        // Ends all waits, as losing the Lease would, so that no test waits for a deadline.
        if (!temporalTakes) ending.abort();
        if (!temporalTakes) throw new Error('UNAVAILABLE');
      },
    },
  });
  const pods = openPodTable(() => 0);
  for (let rank = 0; rank < 50; rank++) pods.put(pod(rank));
  const preflights = {
    pods,
    acceptsNamespace: (namespace: string) => namespace === 'train',
    isUpToDate: () => true,
    fresh: () => false,
    share: () => ({ asked: 8, of: 8 }),
    isAnnounced: () => announced,
    notified: () => undefined,
  };
  server = openIntake({
    certificate: { read: () => certificate, onChange: () => undefined },
    authenticate: { agents, preflights: agents, trainers: agents },
    external: controllerSettings.parse({}).external,
    limits: controllerSettings.parse({ intake: { limits: { requests: { burst: 1000 } } } }).intake.limits,
    collector: () =>
      leads
        ? {
            outbox,
            preflights,
            nodes: { has: () => undefined },
            progress: {
              take: () => 'counted',
              takeStep: () => 'counted',
              takeLogs: () => [],
              wantedLogs: () => [],
              isUpToDate: () => true,
              restartOf: () => undefined,
              answerRestart: async () => false,
            },
            rounds,
            noticeOf: () => undefined,
          }
        : undefined,
    agents: rememberAgents(() => 0),
    onNodeFault: () => undefined,
    metrics: controllerMetrics(registry, {
      leading: () => leads,
      messagesWaiting: () => 0,
      agentsLive: () => 0,

      agentsSilent: () => [],
      quarantines: () => new Map(),
    }),
    log: pino({ level: 'silent' }),
  });
});
afterAll(() => server.close());

async function send(body: object, token = 'agent') {
  const answer = await server.inject({
    method: 'POST',
    url: preflightPath,
    headers: { authorization: `Bearer ${token}` },
    payload: body,
  });
  return { status: answer.statusCode, body: answer.json<{ error?: string } & Partial<PreflightAnswer>>() };
}
/** A clock hours away from ours. */
const sentAt = '2026-11-21T07:10:00.000Z';
const sendFiles = async (...files: unknown[]) => send({ schema: 1, node: 'gpu-1', sentAt, files });
const answers = async (...files: unknown[]) => (await sendFiles(...files)).body.files?.map(({ answer }) => answer);

const arrived = () => calls.flatMap(({ signal }) => (signal?.name === 'reportsArrived' ? [signal.payload] : []));
const ranks = () => arrived().flatMap(({ reports }) => reports.map((each) => each.report.rank));
const refusals = (): readonly RefusedReport[] => arrived().flatMap((payload) => payload.refused);
const counted = async (name: string) =>
  (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => !line.startsWith('#') && line !== '');

describe('the intake of preflight files', () => {
  it('answers each of 50 files when Temporal has it', async () => {
    const all = Array.from({ length: 50 }, (_, rank) => rank);
    expect(await answers(...all.map(file))).toEqual(all.map(() => 'accepted'));
    expect(ranks().toSorted((a, b) => a - b)).toEqual(all);
    expect(new Set(calls.map(({ workflowId }) => workflowId))).toEqual(new Set(['preflight/train/llm/w1']));
    expect(await counted('kcover_preflight_reports_total')).toEqual([
      'kcover_preflight_reports_total{answer="accepted"} 50',
    ]);
  });

  it('sends a report with the pod that made it', async () => {
    await sendFiles(file(7));
    expect(arrived()).toEqual([
      {
        reports: [
          {
            report: report(7),
            pod: { name: 'llm-7', uid: 'uid-7', createdAt: '2026-11-21T06:59:00Z' },
            share: { asked: 8, of: 8 },
            writtenAt: '2026-11-21T07:01:00.000Z',
          },
        ],
        refused: [],
      },
    ]);
  });

  it('refuses unusable files with a reason, and accepts the others of the request', async () => {
    const forgedNode = { ...place(1), report: report(1, 'gpu-2') };
    const forgedRank = { ...place(2), report: report(3) };
    const unusable = { ...place(4), problem: { field: 'pair', because: 'it has no peer' } };
    const ofUnknownPod = { ...file(5), workload: 'other' };
    const { status, body } = await sendFiles(file(0), forgedNode, forgedRank, unusable, ofUnknownPod);
    expect(status).toBe(200);
    expect(body.files).toEqual([
      { answer: 'accepted' },
      { answer: 'refused', because: 'other-node: it names node gpu-2' },
      { answer: 'refused', because: 'other-rank: it names rank 3' },
      { answer: 'refused', because: 'pair: it has no peer' },
      { answer: 'refused', because: 'no-pod: no pod of other with rank 5 runs on gpu-1' },
    ]);
    expect(ranks()).toEqual([0]);
    expect(refusals().map(({ rank, node, what }) => [rank, node, what])).toEqual([
      [1, 'gpu-1', 'other-node'],
      [2, 'gpu-1', 'other-rank'],
      [4, 'gpu-1', 'pair'],
    ]);
    expect((await counted('kcover_preflight_refused_total')).toSorted()).toEqual(
      ['no-pod', 'other-node', 'other-rank', 'pair'].map(
        (reason) => `kcover_preflight_refused_total{reason="${reason}"} 1`,
      ),
    );
  });

  it('accepts nothing of a namespace that settings do not name, and notifies no workflow', async () => {
    const elsewhere = { ...file(0), namespace: 'tenant' };
    expect((await sendFiles(elsewhere, file(1))).body.files).toEqual([
      { answer: 'refused', because: 'namespace: preflight.namespaces of the controller does not name tenant' },
      { answer: 'accepted' },
    ]);
    expect([ranks(), refusals()]).toEqual([[1], []]);
    expect(await counted('kcover_preflight_refused_total')).toEqual([
      'kcover_preflight_refused_total{reason="namespace"} 1',
    ]);
  });

  it('asks for files again that have no answer yet', async () => {
    const young = { ...file(0), workload: 'other', writtenAt: '2026-11-21T07:09:00.000Z' };
    expect(await answers(young)).toEqual(['wait']);
    expect(calls).toEqual([]);
  });

  it('asks again for a report whose set of pods was not announced, and sends nothing before', async () => {
    announced = false;
    expect((await sendFiles(file(0))).body.files).toEqual([
      { answer: 'wait', because: 'its set of pods was not announced yet' },
    ]);
    expect(calls).toEqual([]);
    announced = true;
    expect(await answers(file(0))).toEqual(['accepted']);
  });

  it('sends the same report and the same refusal once, however often they come', async () => {
    const forged = { ...place(1), report: report(1, 'gpu-2') };
    for (let times = 0; times < 3; times++) expect(await answers(file(0), forged)).toEqual(['accepted', 'refused']);
    expect(ranks()).toEqual([0]);
    expect(refusals()).toHaveLength(1);
  });

  it('does not accept many files at once for one pod, and reports 20 refusals', async () => {
    const many = Array.from({ length: 50 }, (_, ms) => ({ ...file(0), writtenAt: `2026-11-21T07:01:00.${100 + ms}Z` }));
    expect(new Set(await answers(...many))).toEqual(new Set(['accepted', 'wait']));
    const forged = many.map((each) => ({ ...each, report: report(0, 'gpu-2') }));
    expect(await answers(...forged)).toEqual(forged.map(() => 'refused'));
    expect(refusals()).toHaveLength(20);
  });

  it('asks again for a file that Temporal did not accept', async () => {
    temporalTakes = false;
    expect(await answers(file(0))).toEqual(['wait']);
    expect(await counted('kcover_preflight_reports_total')).toEqual([
      'kcover_preflight_reports_total{answer="wait"} 1',
    ]);
  });

  it.each<[string, number, string, () => ReturnType<typeof send>]>([
    [
      'refuses the files of another node',
      403,
      'other-node',
      () => send({ schema: 1, node: 'gpu-2', sentAt, files: [file(0)] }),
    ],
    ['rejects another token', 401, 'unauthenticated', () => send({ schema: 1, node: 'gpu-1', files: [] }, 'somebody')],
    ['refuses what are no files', 400, 'malformed', () => send({ schema: 1 })],
    [
      'refuses a request of 2 MB before it is parsed',
      413,
      'too-large',
      () => send({ schema: 1, node: 'gpu-1', files: 'x'.repeat(2 * 1024 * 1024) }),
    ],
    [
      'does not read files of a stranger at all',
      401,
      'unauthenticated',
      () => send({ schema: 1, node: 'gpu-1', files: 'x'.repeat(2 * 1024 * 1024) }, 'somebody'),
    ],
  ])('%s', async (_sentence, status, error, act) => {
    expect(await act()).toMatchObject({ status, body: { error } });
    expect(calls).toEqual([]);
    expect(await counted('kcover_intake_rejected_total')).toEqual([
      `kcover_intake_rejected_total{reason="${error}"} 1`,
    ]);
  });

  it('sends the agent to the leader when it does not lead', async () => {
    leads = false;
    expect(await sendFiles(file(0))).toMatchObject({ status: 503, body: { error: 'not-leading' } });
  });
});
