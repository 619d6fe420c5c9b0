import { appendFile, mkdir, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { RunningDetector } from '../../agent/detectors/detector.ts';
import { kernelLog } from '../../agent/detectors/kernel-log.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { until } from './until.ts';

const log = pino({ level: 'silent' });
const xid = (number: number, text = 'x') => `NVRM: Xid (PCI:0000:5d:00): ${number}, ${text}\n`;

let root = '';
let state = '';
let running: RunningDetector[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kcover-node-'));
  state = join(root, 'state');
  await mkdir(join(root, 'dev'));
  await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
  await boot('boot-1');
});

afterEach(async () => {
  await Promise.all(running.map((detector) => detector.stop()));
  running = [];
  await rm(root, { recursive: true, force: true });
});

const kmsg = () => join(root, 'dev/kmsg');
const boot = (id: string) => writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${id}\n`);

/** A detector, and its reports so far. */
function observe(more: { settled?: () => boolean; userSpace?: boolean } = {}) {
  const faults: Fault[] = [];
  const gaps: { what: string; lost: number | 'unknown' }[] = [];
  const detector = kernelLog.start({
    settings: agentSettings.parse({ kernelLog: { userSpace: more.userSpace } }),
    node: 'gpu-3',
    hostRoot: root,
    stateDirectory: state,
    log,
    fault: async (fault) => void faults.push(fault),
    gap: async (gap) => void gaps.push(gap),
    settled: more.settled ?? (() => true),
  });
  running.push(detector);
  return { detector, faults, gaps, codes: () => faults.map((fault) => fault.code) };
}

const watching = ({ detector }: { detector: RunningDetector }) => until(() => detector.status().state === 'watching');
/** Longer than a poll takes: lines that were not read by then are not read at all. */
const aWhile = () => setTimeout(400);

describe('the kernel log in a plain file', () => {
  it('ignores lines from before the first start', async () => {
    await writeFile(kmsg(), xid(79));
    const seen = observe();
    await watching(seen);
    await aWhile();
    await appendFile(kmsg(), xid(48));
    await until(() => seen.faults.length > 0);
    expect([seen.codes(), seen.gaps]).toEqual([['xid/48'], []]);
  });

  it('takes a record that was written from user space as evidence, never as a fault', async () => {
    await writeFile(kmsg(), '');
    const seen = observe();
    await watching(seen);
    await appendFile(kmsg(), `12,1,1,-;${xid(79)}4,2,2,-;${xid(48)}`);
    await until(() => seen.faults.length > 0);
    expect(seen.codes()).toEqual(['xid/48']);
    expect(seen.faults[0]?.evidence).toEqual([expect.stringContaining('79'), expect.stringContaining('48')]);
  });

  it('takes a record from user space as a fault where the settings say so', async () => {
    await writeFile(kmsg(), '');
    const seen = observe({ userSpace: true });
    await watching(seen);
    await appendFile(kmsg(), `12,1,1,-;${xid(79)}`);
    await until(() => seen.faults.length > 0);
    expect(seen.codes()).toEqual(['xid/79']);
  });

  it('takes the byte offset as sequence, and up to two lines before as evidence', async () => {
    await writeFile(kmsg(), 'old\n');
    const seen = observe();
    await watching(seen);
    await aWhile();
    await appendFile(kmsg(), `one\ntwo\n6,1,2,-;three ü\n${xid(79)}`);
    await until(() => seen.faults.length > 0);
    const sequence = Buffer.byteLength('old\none\ntwo\n6,1,2,-;three ü\n');
    expect(seen.faults[0]).toMatchObject({
      id: `kernel/boot-1/${sequence}`,
      node: 'gpu-3',
      kernel: { bootId: 'boot-1', sequence },
      evidence: ['two', 'three ü', xid(79).trim()],
    });
  });

  it('waits for the end of a line', async () => {
    await writeFile(kmsg(), '');
    const seen = observe();
    await watching(seen);
    await appendFile(kmsg(), 'NVRM: Xid (PCI:0000:5d:00): 7');
    await aWhile();
    expect(seen.faults).toEqual([]);
    await appendFile(kmsg(), '9, gone\n');
    await until(() => seen.faults.length > 0);
    expect(seen.codes()).toEqual(['xid/79']);
  });

  it('ignores the end of a line that was begun before the first start', async () => {
    await writeFile(kmsg(), 'begun ');
    const seen = observe();
    await watching(seen);
    await aWhile();
    await appendFile(kmsg(), `${xid(79)}${xid(48)}`);
    await until(() => seen.faults.length > 0);
    expect(seen.codes()).toEqual(['xid/48']);
  });

  it('continues after the last line that it read when it is started again', async () => {
    await writeFile(kmsg(), '');
    const first = observe();
    await watching(first);
    await aWhile();
    await appendFile(kmsg(), xid(79));
    await until(() => first.faults.length > 0);
    await first.detector.stop();
    await appendFile(kmsg(), xid(48));
    const second = observe();
    await until(() => second.faults.length > 0);
    await aWhile();
    expect([second.codes(), second.gaps]).toEqual([['xid/48'], []]);
  });

  it('reads a fault again rather than lose it when it was never safe', async () => {
    await writeFile(kmsg(), '');
    let safe = true;
    const first = observe({ settled: () => safe });
    await watching(first);
    await aWhile();
    safe = false;
    await appendFile(kmsg(), xid(79));
    await until(() => first.faults.length > 0);
    await first.detector.stop();
    const second = observe();
    await until(() => second.faults.length > 0);
    expect(second.faults[0]?.id).toBe(first.faults[0]?.id);
  });

  it('processes every line of another boot', async () => {
    await writeFile(kmsg(), xid(79));
    const first = observe();
    await watching(first);
    await aWhile();
    await first.detector.stop();
    await boot('boot-2');
    await writeFile(kmsg(), xid(48));
    const second = observe();
    await until(() => second.faults.length > 0);
    expect(second.faults).toMatchObject([{ code: 'xid/48', kernel: { bootId: 'boot-2', sequence: 0 } }]);
    expect(second.gaps).toEqual([]);
  });

  it('starts again and reports the gap when the file is truncated', async () => {
    await writeFile(kmsg(), 'old\n'.repeat(100));
    const seen = observe();
    await watching(seen);
    await aWhile();
    await truncate(kmsg(), 0);
    await until(() => seen.gaps.length > 0);
    await appendFile(kmsg(), xid(79));
    await until(() => seen.faults.length > 0);
    expect(seen.faults).toMatchObject([{ kernel: { bootId: 'boot-1', sequence: 0 } }]);
    expect(seen.gaps).toEqual([{ what: 'state-lost', lost: 'unknown' }]);
  });

  it('reports the gap when the file was truncated while the agent was down', async () => {
    await writeFile(kmsg(), 'old\n'.repeat(100));
    const first = observe();
    await watching(first);
    await aWhile();
    await first.detector.stop();
    await writeFile(kmsg(), xid(79));
    const second = observe();
    await until(() => second.faults.length > 0);
    expect([second.codes(), second.gaps.map((gap) => gap.what)]).toEqual([['xid/79'], ['state-lost']]);
  });

  it('takes a file that is cut short under a new boot id for a reboot, which is no gap', async () => {
    await writeFile(kmsg(), 'old\n'.repeat(100));
    const seen = observe();
    await watching(seen);
    await aWhile();
    await boot('boot-2');
    await writeFile(kmsg(), xid(79));
    await until(() => seen.faults.length > 0);
    expect([seen.faults[0]?.kernel, seen.gaps]).toEqual([{ bootId: 'boot-2', sequence: 0 }, []]);
  });

  it('begins again when the file was replaced', async () => {
    await writeFile(kmsg(), 'old\n');
    const seen = observe();
    await watching(seen);
    await aWhile();
    await writeFile(`${kmsg()}.new`, `new and longer\n${xid(79)}`);
    await rename(`${kmsg()}.new`, kmsg());
    await until(() => seen.faults.length > 0);
    expect(seen.codes()).toEqual(['xid/79']);
  });

  it('is unavailable, and says why, until the file exists; then processes all of it', async () => {
    const seen = observe();
    await until(() => seen.detector.status().state === 'unavailable');
    expect(seen.detector.status().because).toContain('dev/kmsg');
    await writeFile(kmsg(), xid(79));
    await until(() => seen.faults.length > 0);
    expect(seen.detector.status().state).toBe('watching');
  });

  it('says so when its position cannot be read', async () => {
    await writeFile(kmsg(), xid(79));
    await mkdir(state);
    await writeFile(join(state, 'kernel-log.json'), '{');
    const seen = observe();
    await until(() => seen.gaps.length > 0);
    await aWhile();
    expect([seen.gaps, seen.faults]).toEqual([[{ what: 'state-lost', lost: 'unknown' }], []]);
  });

  it('cuts an endless line and finds the next one', async () => {
    await writeFile(kmsg(), '');
    const seen = observe();
    await watching(seen);
    await aWhile();
    const huge = `${xid(79).trim()}${'x'.repeat(300_000)}\n`;
    await appendFile(kmsg(), huge + xid(48));
    await until(() => seen.faults.length > 1);
    expect(seen.faults).toMatchObject([
      { code: 'xid/79', kernel: { sequence: 0 } },
      { code: 'xid/48', kernel: { sequence: huge.length } },
    ]);
  });

  it('loses nothing in a flood', async () => {
    await writeFile(kmsg(), '');
    const seen = observe();
    await watching(seen);
    for (let batch = 0; batch < 20; batch++) await appendFile(kmsg(), xid(31).repeat(200));
    await until(() => seen.faults.length === 4000);
    expect(new Set(seen.faults.map((fault) => fault.id)).size).toBe(4000);
  });
});
