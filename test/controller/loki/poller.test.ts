import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { limitFaults } from '../../../controller/intake/fault-rates.ts';
import { resultOf } from '../../../controller/loki/lines.ts';
import type { LokiLine } from '../../../controller/loki/answer.ts';
import type { Ask } from '../../../controller/loki/pages.ts';
import { type Rig, hour, ns, rigOf, start, xid } from './rig.ts';

const minute = 60_000;

/** Lines in memory, each visible from the time when it arrives. */
function store() {
  const lines: { readonly line: LokiLine; readonly arrives: number }[] = [];
  let now = start;
  const ask: Ask = ({ start: from, end, limit }) =>
    Promise.resolve(
      lines
        .filter(({ line, arrives }) => arrives <= now && from <= line.at && line.at < end)
        .map(({ line }) => line)
        .toSorted((a, b) => Number(a.at - b.at))
        .slice(0, limit),
    );
  return {
    ask,
    put(ms: number, text?: string, { late = 0, node = 'gpu-1' } = {}) {
      const { at, line, stream } = xid(ms, text);
      lines.push({ line: { at, text: line, labels: { ...stream, k8s_node_name: node } }, arrives: start + ms + late });
    },
    raw: (line: LokiLine) => void lines.push({ line, arrives: 0 }),
    at(rig: Rig, ms: number) {
      now = start + ms;
      rig.now = now;
    },
  };
}

const textsOf = (rig: Rig) => rig.sent.map(({ message }) => message);

describe('polling Loki', () => {
  it('sends a driver line as a kernel fault of the node that its label names', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    const poller = rig.open();
    await poller.poll();
    loki.put(5000, undefined, { node: 'gpu-7' });
    loki.at(rig, 20_000);
    await poller.poll();
    expect(rig.sent).toMatchObject([
      {
        id: expect.stringMatching(/^kernel\/loki\/[0-9a-f]{32}$/),
        source: 'kernel',
        code: 'xid/79',
        node: 'gpu-7',
        device: '0000:5d:00',
        seenAt: '2026-11-21T07:00:05.000Z',
      },
    ]);
    expect(await rig.metric('kcover_loki_faults_total')).toContain('{query="kernel",result="fault"} 1');
  });

  it('reads no line from before its first start', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    loki.put(-1);
    const poller = rig.open();
    for (const ms of [0, 30_000, 90_000]) {
      loki.at(rig, ms);
      await poller.poll();
    }
    expect(rig.sent).toEqual([]);
  });

  it('tells every fault exactly once, through restarts, late lines, floods and small pages', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            at: fc.integer({ min: 0, max: 20 * minute }),
            late: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 * minute - 30_000 })),
            times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
            node: fc.constantFrom('gpu-1', 'gpu-2'),
          }),
          { maxLength: 25 },
        ),
        fc.array(fc.constantFrom('poll', 'poll', 'restart', 'crash'), { minLength: 4, maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        async (bursts, steps, page) => {
          const loki = store();
          const rig = rigOf(loki.ask, { page });
          const all = new Set<string>();
          bursts.forEach(({ at, late, times, node }, burst) => {
            for (let count = 0; count < times; count++) {
              const text = `79, ${burst} ${count}`;
              loki.put(at, text, { late, node });
              // Loki has it in two streams.
              loki.put(at, text, { late, node });
              all.add(`${burst} ${count}`);
            }
          });
          let poller = rig.open();
          await poller.poll();
          for (const [index, step] of [...steps, 'poll' as const].entries()) {
            // Polls are never as far apart as lines may be late.
            loki.at(rig, Math.round((index + 1) * (26 / (steps.length + 1)) * minute));
            if (step !== 'poll') poller = rig.open();
            if (step === 'crash') {
              // It dies when one fault was sent, before anything is stored.
              const dying = rig.open({ send: () => Promise.reject(new Error('dead')) });
              await dying.poll().catch(() => undefined);
            }
            await poller.poll();
          }
          expect(new Set(textsOf(rig))).toEqual(all);
          expect(rig.sent).toHaveLength(all.size);
        },
      ),
    ));

  it('sends again, with the same ids, what a controller sent before it died without storing that', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    await rig.open().poll();
    loki.put(1000);
    loki.at(rig, 30_000);
    await rig.open({ save: () => Promise.reject(new Error('no API server')) }).poll();
    await rig.open().poll();
    await rig.open().poll();
    expect(rig.sent).toHaveLength(2);
    expect(new Set(rig.sent.map(({ id }) => id)).size).toBe(1);
  });

  it('does not go on before the workflow has the fault', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    const refusing = rig.open({ send: () => Promise.reject(new Error('Temporal is away')) });
    await refusing.poll();
    loki.put(1000);
    loki.at(rig, 10 * minute);
    await expect(refusing.poll()).rejects.toThrow('Temporal is away');
    await rig.open().poll();
    expect(rig.sent).toHaveLength(1);
  });

  it('sends a line once that a shipper sends again with a new time, if it shows the time of the kernel', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    const poller = rig.open();
    await poller.poll();
    const text = '[ 4711.000042] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.';
    for (const ms of [1000, 61_000]) loki.raw({ at: ns(start + ms), text, labels: { k8s_node_name: 'gpu-1' } });
    loki.at(rig, 2 * minute);
    await poller.poll();
    expect(rig.sent).toMatchObject([{ kernelUs: 4_711_000_042 }]);
  });

  it('counts the repeats of a flood, and sends only as many as the intake allows', async () => {
    const loki = store();
    const rig = rigOf(loki.ask, { page: 50 });
    const poller = rig.open({ rates: limitFaults({ perMinute: 200, repeats: 20 }, () => 0) });
    await poller.poll();
    for (let index = 0; index < 3000; index++) loki.put(1000 + index, `13, pid=${index}`);
    loki.put(4500);
    loki.at(rig, minute);
    await poller.poll();
    await poller.poll();
    expect(rig.sent.map(({ code }) => code)).toEqual([...Array<string>(20).fill('xid/13'), 'xid/79']);
    expect(await rig.metric('kcover_loki_faults_total')).toContain('result="suppressed"} 2980');
  });

  it('lets no node wait for another that reports more than it may, and reads the rest of that one later', async () => {
    const loki = store();
    const rig = rigOf(loki.ask, { page: 3 });
    let clock = 0;
    const poller = rig.open({ rates: limitFaults({ perMinute: 5, repeats: 1000 }, () => clock) });
    await poller.poll();
    for (let index = 0; index < 8; index++) loki.put(1000 + index, `${100 + index}, flood`);
    loki.put(5000, '79, GPU has fallen off the bus.', { node: 'gpu-2' });
    loki.at(rig, 30_000);
    await poller.poll();
    expect(rig.sent.map(({ node }) => node)).toEqual([...Array<string>(5).fill('gpu-1'), 'gpu-2']);
    clock = minute;
    loki.at(rig, minute);
    await poller.poll();
    expect(rig.sent.slice(6).map(({ code }) => code)).toEqual(['xid/105', 'xid/106', 'xid/107']);
    expect(await rig.metric('kcover_loki_faults_total')).toMatch(/result="delayed"} [34]$/m);
  });

  it('marks what a query finds as untrusted, unless the settings say that only nodes write there', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    const nodes = { nodeLabel: 'k8s_node_name', isNode: () => true };
    const [trusted, other] = [true, false].map((isTrusted) =>
      rig.open({ resultOf: (line) => resultOf(line, { ...nodes, trusted: isTrusted }) }),
    );
    await trusted?.poll();
    await other?.poll();
    loki.put(1000);
    loki.at(rig, 30_000);
    await trusted?.poll();
    await other?.poll();
    expect(rig.sent.map(({ untrusted = false }) => untrusted)).toEqual([false, true]);
    expect(new Set(rig.sent.map(({ id }) => id)).size).toBe(2);
  });

  it('reads nothing that is older than it should be after an outage, and says that lines are missing', async () => {
    const loki = store();
    const rig = rigOf(loki.ask);
    await rig.open().poll();
    loki.put(minute);
    loki.put(2.5 * hour, '48, DBE');
    loki.at(rig, 3 * hour);
    await rig.open().poll();
    expect(rig.sent.map(({ code }) => code)).toEqual(['xid/48']);
    expect(await rig.metric('kcover_loki_gaps_total')).toContain('{query="kernel",why="too-old"} 1');
  });

  it('counts one outage of Loki that lasts too long as one gap', async () => {
    const loki = store();
    let isAway = false;
    const rig = rigOf((range) => (isAway ? Promise.reject(new Error('away')) : loki.ask(range)));
    const poller = rig.open();
    await poller.poll();
    isAway = true;
    for (let passed = minute; passed <= 2 * hour; passed += minute) {
      loki.at(rig, passed);
      await expect(poller.poll()).rejects.toThrow('away');
    }
    isAway = false;
    loki.put(1.5 * hour);
    await poller.poll();
    expect(rig.sent).toHaveLength(1);
    expect(await rig.metric('kcover_loki_gaps_total')).toContain('why="too-old"} 1');
  });

  it.each([
    ['no-node', { k8s_node_name: 'no node\n' }, 'NVRM: Xid (PCI:0000:5d:00): 79, x'],
    ['no-node', { host: 'gpu-1' }, 'NVRM: Xid (PCI:0000:5d:00): 79, x'],
    ['unknown-node', { k8s_node_name: 'cpu-1' }, 'NVRM: Xid (PCI:0000:5d:00): 79, x'],
    ['user-space', { k8s_node_name: 'gpu-1' }, '12,7,8,-;NVRM: Xid (PCI:0000:5d:00): 79, x'],
  ])('ignores a driver line as %s, counts it once and says so', async (result, labels, text) => {
    const loki = store();
    const rig = rigOf(loki.ask);
    const poller = rig.open();
    await poller.poll();
    loki.raw({ at: ns(start + 1000), text, labels });
    loki.at(rig, 30_000);
    await poller.poll();
    await poller.poll();
    expect(rig.sent).toEqual([]);
    expect(await rig.metric('kcover_loki_faults_total')).toContain(`result="${result}"} 1`);
    expect(rig.logged.filter((line) => line.includes('is ignored'))).toHaveLength(1);
  });

  it('shows a query without new lines as silent, where that is asked for, until a line comes', async () => {
    const loki = store();
    const rig = rigOf(loki.ask, { silent: '10m' });
    const poller = rig.open();
    const silentAt = async (ms: number) => {
      loki.at(rig, ms);
      await poller.poll();
      return (await rig.metric('kcover_loki_silent')).includes('{query="kernel"} 1');
    };
    expect([await silentAt(9 * minute), await silentAt(11 * minute)]).toEqual([false, true]);
    loki.raw({ at: ns(start + 12 * minute), text: 'usb 1-1: new device', labels: {} });
    expect(await silentAt(13 * minute)).toBe(false);
  });
});
