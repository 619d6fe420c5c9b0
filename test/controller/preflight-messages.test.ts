import { describe, expect, it } from '@jest/globals';
import { type CollectedReport, preflightLimits, type Workload } from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';
import { preflightFiles } from '../../contract/preflight/files.schema.ts';
import { openOutbox } from '../../controller/outbox/outbox.ts';
import {
  arrivalMessage,
  type Call,
  faultMessage,
  podsGoneMessage,
  testingMessage,
} from '../../controller/outbox/messages.ts';

const workload: Workload = { namespace: 'train', name: 'llm', uid: 'u1' };
const id = 'preflight/train/llm/u1';
const report = (rank: number, writtenAt = '2026-11-21T07:00:00.000Z'): CollectedReport => ({
  report: { size: 10_000, rank, node: `gpu-${rank}`, address: '', tests: [] },
  pod: { name: `llm-${rank}`, uid: `pod-${rank}`, createdAt: '2026-11-21T06:59:00Z' },
  share: { asked: 8, of: 8 },
  writtenAt,
});
const refusal = (rank: number, what: RefusedReport['what'] = 'stale'): RefusedReport => ({
  rank,
  node: 'gpu',
  what,
  because: 'b',
  at: '2026-11-21T07:00:00.000Z',
});

/** Records what it is sent; the first call takes a moment, so that the rest is sent together. */
function outbox() {
  const calls: Call[] = [];
  const sender = { send: async (call: Call) => void calls.push(call) };
  return { calls, ...openOutbox({ sender, signal: new AbortController().signal }) };
}

const ranksOf = ({ signal }: Call): number[] =>
  signal?.name === 'reportsArrived' ? signal.payload.reports.map((each) => each.report.rank) : [];
const refusedOf = ({ signal }: Call): readonly RefusedReport[] =>
  signal?.name === 'reportsArrived' ? signal.payload.refused : [];

describe('messages to the workflow of a preflight', () => {
  it('contain 250 reports in calls of at most 100, each once, and start it', async () => {
    const { send, calls } = outbox();
    await Promise.all(
      Array.from({ length: 250 }, (_, rank) => send(arrivalMessage(workload, { report: report(rank) }))),
    );
    expect(calls.map((call) => ranksOf(call).length)).toEqual([1, 100, 100, 49]);
    expect(calls.flatMap(ranksOf)).toEqual(Array.from({ length: 250 }, (_, rank) => rank));
    expect(calls.every(({ workflowId, starts }) => workflowId === id && starts?.kind === 'preflight')).toBe(true);
  });

  it('may be as many as a workload has ranks, at the same moment', async () => {
    const { send, calls, waiting } = outbox();
    const all = Array.from({ length: 10_000 }, (_, rank) => send(arrivalMessage(workload, { report: report(rank) })));
    await expect(send(arrivalMessage(workload, { report: report(10_000) }))).resolves.toBeUndefined();
    await Promise.all(all);
    expect(new Set(calls.flatMap(ranksOf)).size).toBe(10_001);
    expect(waiting()).toBe(0);
  });

  it('are rejected when there are more than that', async () => {
    const ending = new AbortController();
    const { send } = openOutbox({ sender: { send: () => new Promise(() => undefined) }, signal: ending.signal });
    for (let rank = 0; rank <= 10_000; rank++)
      send(arrivalMessage(workload, { report: report(rank) })).catch(() => undefined);
    await expect(send(arrivalMessage(workload, { report: report(10_001) }))).rejects.toMatchObject({
      code: 'temporal.unreachable',
    });
    ending.abort();
  });

  it('contain one file once, and its newer contents again', async () => {
    const { send, calls } = outbox();
    const newer = '2026-11-21T07:05:00.000Z';
    await Promise.all(
      [report(0), report(1), report(1), report(1, newer)].map((each) =>
        send(arrivalMessage(workload, { report: each })),
      ),
    );
    expect(calls.map(ranksOf)).toEqual([[0], [1, 1]]);
  });

  it('contain reports and refusals together', async () => {
    const { send, calls } = outbox();
    await Promise.all([
      send(arrivalMessage(workload, { report: report(0) })),
      send(arrivalMessage(workload, { refused: refusal(1) })),
      send(arrivalMessage(workload, { refused: refusal(1) })),
      send(arrivalMessage(workload, { refused: refusal(1, 'other-node') })),
      send(arrivalMessage(workload, { report: report(2) })),
    ]);
    expect(calls.map((call) => [ranksOf(call), refusedOf(call).map(({ what }) => what)])).toEqual([
      [[0], []],
      [[2], ['stale', 'other-node']],
    ]);
  });

  it('fit into one signal of Temporal when 100 of the longest are sent together', () => {
    const text = '\u20ac'.repeat(preflightLimits.because);
    const address = 'a'.repeat(preflightLimits.address);
    const gbps = 1 / 3e300;
    const tests = Array.from(
      { length: preflightLimits.rounds },
      (_, round) => ({ round, self: address, peer: address, status: 'skip', gbps, because: text }) as const,
    );
    const [node, at] = ['n'.repeat(253), '2026-11-21T07:00:00.000Z'];
    const longest = {
      size: 10_000,
      rank: 9999,
      node,
      address,
      failed: ['gpu', 'storage'] as const,
      threshold: gbps,
      tests,
    };
    const place = { namespace: 'n'.repeat(63), workload: node, rank: 9999, writtenAt: at };
    const problem = { field: 'duplicate_batch_idx', because: '\u20ac'.repeat(500) } as const;
    const body = {
      schema: 1,
      node,
      sentAt: at,
      files: [
        { ...place, report: longest },
        { ...place, problem },
      ],
    };
    expect(preflightFiles.safeParse(body).success).toBe(true);
    const collected: CollectedReport = {
      report: longest,
      pod: { name: node, uid: 'u'.repeat(36), createdAt: at },
      share: { asked: 8, of: 8 },
      writtenAt: at,
    };
    const largest: RefusedReport = { rank: 9999, node, what: problem.field, because: problem.because, at };
    const bytes = (value: unknown) =>
      new TextEncoder().encode(JSON.stringify(value)).length * preflightLimits.perSignal;
    expect(bytes(collected)).toBeLessThan(1.5 * 1024 * 1024);
    expect(bytes(largest)).toBeLessThan(1.5 * 1024 * 1024);
  });

  it('report that no pod is left after the reports, and start nothing for it', async () => {
    const { send, calls } = outbox();
    await Promise.all([
      send(arrivalMessage(workload, { report: report(0) })),
      send(arrivalMessage(workload, { report: report(1) })),
      send(podsGoneMessage(id)),
      send(podsGoneMessage(id)),
    ]);
    expect(calls.map(({ signal, starts }) => [signal?.name, starts?.kind])).toEqual([
      ['reportsArrived', 'preflight'],
      ['reportsArrived', 'preflight'],
      ['podsGone', undefined],
    ]);
  });

  it('announce each set of pods that test, and start it for that', async () => {
    const { send, calls } = outbox();
    const first = { name: 'llm-0', uid: 'a', createdAt: '2026-11-21T06:59:00Z' };
    const second = { name: 'llm-0', uid: 'b', createdAt: '2026-11-21T07:59:00Z' };
    await Promise.all([first, first, second].map((pod) => send(testingMessage(workload, pod))));
    expect(calls.map(({ workflowId, starts, signal }) => [workflowId, starts?.kind, signal?.payload])).toEqual([
      [id, 'preflight', { pod: first }],
      [id, 'preflight', { pod: second }],
    ]);
  });

  it('are not sent together with faults of the same queue', async () => {
    const { send, calls } = outbox();
    const fault = { id: 'f', source: 'kernel', code: 'xid/79', message: 'm', seenAt: '2026-11-21T07:00:00Z' } as const;
    await Promise.all([
      send({ ...faultMessage({ kind: 'preflight', workload }, fault) }),
      send(arrivalMessage(workload, { report: report(1) })),
      send(faultMessage({ kind: 'preflight', workload }, { ...fault, id: 'g' })),
    ]);
    expect(calls.map(({ signal }) => signal?.name)).toEqual(['faultsObserved', 'reportsArrived', 'faultsObserved']);
  });
});
