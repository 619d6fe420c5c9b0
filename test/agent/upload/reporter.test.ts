import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { connectController } from '../../../agent/upload/connection.ts';
import { type FaultReporter, startReporter } from '../../../agent/upload/reporter.ts';
import { openSpool, type Spool } from '../../../agent/spool.ts';
import type { Fault } from '../../../contract/faults/faults.ts';
import { type HttpsController, startHttpsController } from '../https-controller.ts';
import { until } from '../until.ts';

const fault = (number: number, message = 'x'): Fault => ({
  id: `kernel/boot/${number}`,
  source: 'kernel',
  code: 'xid/79',
  message,
  seenAt: '2026-11-21T09:15:12.000Z',
});

let controller: HttpsController;
let spool: Spool;
let directory = '';
let reporter: FaultReporter | undefined;
let logged: { level: number; msg: string }[] = [];

beforeEach(async () => {
  controller = await startHttpsController();
  directory = await mkdtemp(join(tmpdir(), 'kcover-reporter-'));
  logged = [];
  spool = await openSpool({
    directory,
    maxBytes: 16_000_000,
    log: pino({ level: 'silent' }),
    changed: () => reporter?.flush(),
  });
});
afterEach(async () => {
  await reporter?.stop();
  reporter = undefined;
  await controller.close();
  await rm(directory, { recursive: true, force: true });
});

function start(more: { heartbeatMs?: number; caFile?: string; url?: string } = {}): FaultReporter {
  const { url, caFile, tokenFile } = controller;
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) });
  reporter = startReporter({
    spool,
    connection: connectController({ url: more.url ?? url, caFile: more.caFile ?? caFile, tokenFile }, '0.1.0'),
    node: 'gpu-3',
    bootId: async () => 'boot',
    heartbeatMs: more.heartbeatMs ?? 60_000,
    onFollow: () => undefined,
    onNotice: () => undefined,
    log,
    chance: () => 0,
  });
  return reporter;
}

const accepted = () => controller.requests.flatMap(({ batch }) => batch.reports.map((report) => report.seq));
const empty = () => until(() => spool.status().waiting === 0);

describe('the reporter', () => {
  it('sends a first heartbeat at once, then regular ones while there is nothing to report', async () => {
    start({ heartbeatMs: 50 });
    await until(() => controller.requests.length >= 3);
    expect(controller.requests[2]).toMatchObject({
      authorization: 'Bearer token-1',
      batch: { schema: 1, node: 'gpu-3', bootId: 'boot', stream: spool.status().stream, reports: [], gaps: [] },
    });
    expect(controller.connections()).toBe(1);
  });

  it('sends a report at once and forgets it when it was accepted', async () => {
    start();
    await until(() => controller.requests.length === 1);
    await spool.append(fault(1));
    await until(() => controller.requests.length === 2);
    await empty();
    expect(controller.requests[1]?.batch.reports).toEqual([{ seq: 1, fault: fault(1) }]);
    expect(reporter?.status()).toMatchObject({ failures: 0, lastAcceptedAt: expect.any(String) });
  });

  it('sends gaps and forgets them when they were accepted', async () => {
    start();
    await spool.gap({ seenAt: '2026-11-21T09:15:12.000Z', what: 'kernel-log-overrun', lost: 3 });
    await until(() => controller.requests.some(({ batch }) => batch.gaps.length > 0));
    await until(() => spool.pending({ reports: 1, bytes: 1 }).gaps.length === 0);
  });

  it('reads the token again for each request', async () => {
    start();
    await until(() => controller.requests.length === 1);
    await writeFile(controller.tokenFile, 'token-2');
    await spool.append(fault(1));
    await until(() => controller.requests.length === 2);
    expect(controller.requests[1]?.authorization).toBe('Bearer token-2');
  });

  it('keeps a report while the controller cannot take it, tries again on a new connection, and delivers it', async () => {
    await spool.append(fault(1));
    let refusals = 3;
    controller.answer(() => (refusals-- > 0 ? { status: 503, body: { error: 'not-leading' } } : undefined));
    start();
    await empty();
    expect(accepted()).toEqual([1, 1, 1, 1]);
    expect(controller.connections()).toBe(4);
    await until(() => logged.length === 2);
    const waits = controller.requests
      .slice(1)
      .map((request, index) => request.at - (controller.requests[index]?.at ?? 0));
    expect(waits.map((wait, index) => wait >= 100 * 2 ** (index + 1) - 20)).toEqual([true, true, true]);
    expect(logged.map((line) => line.msg)).toEqual([
      'reports do not reach the controller; they are kept',
      'reports reach the controller again',
    ]);
  });

  it('waits as long as the controller asks, on the same connection, and loses nothing', async () => {
    for (const number of [1, 2, 3]) await spool.append(fault(number));
    const answers = [
      { status: 202, body: { accepted: 1 } },
      { status: 429, body: { error: 'too-many' }, retryAfter: '1' },
    ];
    controller.answer(() => answers.shift());
    start();
    await empty();
    expect(controller.requests.map(({ batch }) => batch.reports.map(({ seq }) => seq))).toEqual([
      [1, 2, 3],
      [2, 3],
      [2, 3],
    ]);
    expect(controller.connections()).toBe(1);
    const [, second, third] = controller.requests;
    expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(990);
    expect(reporter?.status().refused).toEqual(new Map([['too-many', 1]]));
  });

  it('keeps all reports when it is not authorised, and logs that', async () => {
    await spool.append(fault(1));
    controller.answer(() => ({ status: 403, body: { error: 'other-account' } }));
    start();
    await until(() => controller.requests.length >= 2);
    expect(spool.status().waiting).toBe(1);
    expect(logged).toMatchObject([{ level: 50, msg: expect.stringContaining('does not authorise this agent') }]);
    expect(reporter?.status().because).toContain('403');
    controller.answer(() => undefined);
    await empty();
  });

  it('forgets only what was accepted', async () => {
    for (let number = 1; number <= 3; number++) await spool.append(fault(number));
    let first = true;
    controller.answer(() => {
      if (!first) return undefined;
      first = false;
      return { status: 202, body: { accepted: 2 } };
    });
    start();
    await empty();
    expect(controller.requests.map(({ batch }) => batch.reports.map((report) => report.seq))).toEqual([[1, 2, 3], [3]]);
  });

  it('backs off when the controller accepts nothing', async () => {
    await spool.append(fault(1));
    controller.answer(() => ({ status: 202, body: { accepted: 0 } }));
    start();
    await until(() => (reporter?.status().failures ?? 0) > 0);
    expect(spool.status().waiting).toBe(1);
  });

  it('rejects an answer that is not one of a controller', async () => {
    await spool.append(fault(1));
    controller.answer(() => ({ status: 200, body: 'hello' }));
    start();
    await until(() => (reporter?.status().failures ?? 0) > 0);
    expect(spool.status().waiting).toBe(1);
  });

  it('sends many reports in batches of at most 500 and less than the body limit', async () => {
    const large = 'ü'.repeat(490);
    await Promise.all(
      Array.from({ length: 1200 }, (_, index) =>
        spool.append({ ...fault(index + 1, large), evidence: [large, large] }),
      ),
    );
    start();
    await empty();
    expect(new Set(accepted()).size).toBe(1200);
    expect(Math.max(...controller.requests.map(({ batch }) => batch.reports.length))).toBeLessThanOrEqual(500);
    expect(Math.max(...controller.requests.map(({ bytes }) => bytes))).toBeLessThan(1024 * 1024);
  });

  it('finds the one report that will never be accepted, drops it, and sends all others', async () => {
    const unacceptable = 'will never be taken';
    for (let number = 1; number <= 20; number++) await spool.append(fault(number, number === 7 ? unacceptable : 'x'));
    await spool.gap({ seenAt: '2026-11-21T09:15:12.000Z', what: 'kernel-log-overrun', lost: 1 });
    const received = new Set<number>();
    controller.answer(({ batch }) => {
      if (batch.reports.some((report) => report.fault.message === unacceptable))
        return { status: 400, body: { error: 'malformed' } };
      for (const report of batch.reports) received.add(report.seq);
      return undefined;
    });
    start();
    await empty();
    await until(() => controller.requests.some(({ batch }) => batch.gaps.some((gap) => gap.what === 'report-refused')));
    expect([...received].toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1).filter((seq) => seq !== 7),
    );
    expect(controller.requests.flatMap(({ batch }) => batch.gaps)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ what: 'kernel-log-overrun' }),
        expect.objectContaining({ what: 'report-refused', lost: 1 }),
      ]),
    );
    expect(reporter?.status()).toMatchObject({ sent: 19, refused: new Map([['malformed', expect.any(Number)]]) });
    expect(logged).toMatchObject([{ level: 50, fault: 'kernel/boot/7', msg: expect.stringContaining('dropped') }]);
  });

  it('finds the one gap that will never be accepted, drops it, and reports all others', async () => {
    for (const what of ['kernel-log-overrun', 'state-lost', 'spool-full'] as const)
      await spool.gap({ seenAt: '2026-11-21T09:15:12.000Z', what, lost: 1 });
    const reported = new Set<string>();
    controller.answer(({ batch }) => {
      if (batch.gaps.some(({ what }) => what === 'state-lost')) return { status: 400, body: { error: 'malformed' } };
      for (const { what } of batch.gaps) reported.add(what);
      return undefined;
    });
    start();
    await until(() => spool.pending({ reports: 1, bytes: 1 }).gaps.length === 0);
    expect(reported).toEqual(new Set(['kernel-log-overrun', 'spool-full']));
    expect(logged).toMatchObject([{ level: 50, gap: { what: 'state-lost' }, msg: expect.stringContaining('dropped') }]);
  });

  it('drops nothing when even an empty batch is rejected', async () => {
    await spool.append(fault(1));
    await spool.append(fault(2));
    controller.answer(() => ({ status: 400, body: { error: 'malformed' } }));
    start();
    await until(() => (reporter?.status().failures ?? 0) >= 2);
    expect(spool.status().waiting).toBe(2);
  });

  it('does not talk to a server that another authority has signed', async () => {
    await spool.append(fault(1));
    const other = await startHttpsController();
    start({ caFile: other.caFile });
    await until(() => (reporter?.status().failures ?? 0) > 0);
    expect(reporter?.status().because).toMatch(/certificate/i);
    expect(controller.requests).toEqual([]);
    await other.close();
  });

  it('waits for a controller that is not there, and for a token that is not there', async () => {
    await spool.append(fault(1));
    const gone = await startHttpsController();
    await gone.close();
    start({ url: gone.url });
    await until(() => (reporter?.status().failures ?? 0) > 0);
    expect(reporter?.status().because).toContain('ECONNREFUSED');
    await reporter?.stop();
    await rm(controller.tokenFile);
    start();
    await until(() => (reporter?.status().failures ?? 0) > 0);
    expect(reporter?.status().because).toContain('token');
    await writeFile(controller.tokenFile, 'token-3');
    await empty();
  });

  it('stops at once while the controller is silent', async () => {
    controller.answer(() => 'silent');
    start();
    await until(() => controller.requests.length === 1);
    const before = performance.now();
    await reporter?.stop();
    // The request itself has a timeout of 10 s.
    expect(performance.now() - before).toBeLessThan(8000);
  });
});
