/** Against Loki itself; each test has a stream of its own. Times are near the present, because Loki refuses old lines. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mostLines } from '../../controller/loki/pages.ts';
import { lokiRequest } from '../../controller/loki/request.ts';
import { controllerSettings } from '../../contract/settings/settings.schema.ts';
import { nodeLabel, ns, rigOf } from '../controller/loki/rig.ts';
import type { StoredLine } from '../support/loki-server.ts';
import { type RealLoki, startRealLoki, tenant } from '../support/real-loki.ts';

const minute = 60_000;

let loki: RealLoki;
let streams = 0;

beforeAll(async () => {
  loki = await startRealLoki();
});
afterAll(() => loki?.close());

const settingsOf = (more: object = {}) => controllerSettings.parse({ loki: { url: loki.url, tenant, ...more } }).loki;
const ask = (query: string, more: object = {}) => lokiRequest(settingsOf(more), query, new AbortController().signal);

/** A poller that started just now, on a stream that nothing else writes to. */
async function reader(settings: object = {}) {
  const job = `kernel-${(streams += 1)}`;
  const base = Date.now();
  const rig = rigOf(ask(`{job="${job}"}`), settings);
  const line = (ms: number, text: string, more: Partial<StoredLine> = {}): StoredLine => ({
    at: ns(base + ms),
    line: `NVRM: Xid (PCI:0000:5d:00): ${text}`,
    stream: { job, [nodeLabel]: 'gpu-1' },
    ...more,
  });
  rig.now = base;
  let poller = rig.open();
  await poller.poll();
  return {
    rig,
    line,
    numbered: (count: number, ms: number) => Array.from({ length: count }, (_, index) => line(ms, `79, ${index}`)),
    startAgain: () => void (poller = rig.open()),
    async pollAt(ms: number) {
      rig.now = base + ms;
      await poller.poll();
    },
    ids: () => rig.sent.map(({ id }) => id),
  };
}

describe('lines in Loki', () => {
  it('are each found once, in several streams, with the node in a label or in structured metadata', async () => {
    const { rig, line, pollAt } = await reader();
    const { job = '' } = line(0, '').stream;
    await loki.push(
      line(1000, '79, label'),
      line(1001, '79, stream', { stream: { job, source: 'other', [nodeLabel]: 'gpu-2' } }),
      line(1002, '79, metadata', { stream: { job }, metadata: { [nodeLabel]: 'gpu-3' } }),
      line(1003, '79, both', { metadata: { [nodeLabel]: 'gpu-4' } }),
    );
    for (const ms of [20_000, 30_000, 8 * minute]) await pollAt(ms);
    expect(rig.sent.map(({ node }) => node)).toEqual(['gpu-1', 'gpu-2', 'gpu-3', 'gpu-1']);
  });

  it('are all found when one instant has more of them than a page', async () => {
    const { line, numbered, pollAt, ids } = await reader({ page: 7 });
    await loki.push(line(999, '79, before'), ...numbered(60, 1000), line(1001, '79, after'));
    for (const ms of [20_000, 30_000]) await pollAt(ms);
    expect([ids().length, new Set(ids()).size]).toEqual([62, 62]);
  });

  it('are left out, which is said, when one instant has more of them than Loki gives in one answer', async () => {
    const { rig, line, numbered, pollAt, ids } = await reader();
    await loki.push(...numbered(mostLines + 1, 1000), line(1001, '79, after'));
    await pollAt(20_000);
    expect(new Set(ids()).size).toBe(mostLines + 1);
    expect(rig.sent.at(-1)?.message).toContain('after');
    expect(await rig.metric('kcover_loki_gaps_total')).toContain('why="one-instant"} 1');
  });

  it('are found when they come late, also by a poller that started again', async () => {
    const { rig, line, pollAt, startAgain } = await reader();
    await loki.push(line(60_000, '79, in time'));
    await pollAt(2 * minute);
    startAgain();
    await loki.push(line(30_000, '79, late'));
    await pollAt(3 * minute);
    expect(rig.sent).toMatchObject([
      { message: expect.stringContaining('in time') },
      { message: expect.stringContaining('late') },
    ]);
  });

  it('are one when they are identical', async () => {
    const { rig, line, pollAt } = await reader();
    await loki.push(line(1000, '79, same'), line(1000, '79, same'));
    await pollAt(20_000);
    await loki.push(line(1000, '79, same'));
    await pollAt(30_000);
    expect(rig.sent).toHaveLength(1);
    expect(await rig.metric('kcover_loki_faults_total')).toContain('result="fault"} 1');
  });
});

describe('Loki', () => {
  it('loses and doubles no line when it is killed and starts again', async () => {
    const { line, pollAt, startAgain, rig } = await reader();
    await loki.push(line(1000, '79, read before'));
    await pollAt(20_000);
    await loki.push(line(21_000, '79, stored before'));
    await loki.server.kill('SIGKILL');
    await expect(pollAt(40_000)).rejects.toMatchObject({ code: 'loki.unavailable' });
    startAgain();
    await loki.server.start();
    await loki.push(line(41_000, '79, after'));
    for (const ms of [60_000, 70_000]) await pollAt(ms);
    const words = rig.sent.map(({ message }) => /read before|stored before|after/.exec(message)?.[0]);
    expect(words).toEqual(['read before', 'stored before', 'after']);
  });

  it('is silent while it answers without lines, until it has lines again', async () => {
    const { rig, line, pollAt } = await reader({ silent: '2m' });
    await pollAt(3 * minute);
    expect(await rig.metric('kcover_loki_silent')).toContain('{query="kernel"} 1');
    await loki.push({ ...line(3 * minute, ''), line: 'usb 1-1: new high-speed USB device' });
    await pollAt(4 * minute);
    expect(await rig.metric('kcover_loki_silent')).toContain('{query="kernel"} 0');
  });

  it.each([
    ['without a tenant', '{job="kernel"}', { tenant: undefined }, 1, 'HTTP 401: no org id'],
    ['for more lines than it gives', '{job="kernel"}', {}, mostLines + 1, 'HTTP 400: max entries limit'],
    ['in a language that it does not know', 'kernel', {}, 1, 'HTTP 400: parse error'],
    ['for numbers', 'count_over_time({job="kernel"}[1m])', {}, 1, 'the query does not ask for lines'],
  ])('says why it refuses a question %s', async (_, query, settings, limit, because) => {
    const now = Date.now();
    await expect(ask(query, settings)({ start: ns(now - minute), end: ns(now), limit })).rejects.toMatchObject({
      code: 'loki.unavailable',
      because: expect.stringContaining(because),
    });
  });

  it('gives the lines of one tenant to no other', async () => {
    const { rig, line, pollAt } = await reader();
    await loki.push(line(1000, '79, mine'));
    const { job = '' } = line(0, '').stream;
    const range = { start: line(0, '').at, end: line(minute, '').at, limit: 10 };
    expect(await ask(`{job="${job}"}`, { tenant: 'cluster-2' })(range)).toEqual([]);
    await pollAt(20_000);
    expect(rig.sent).toHaveLength(1);
  });
});
