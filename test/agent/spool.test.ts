import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openSpool, type Spool } from '../../agent/spool.ts';
import type { Fault } from '../../contract/faults/faults.ts';

const log = pino({ level: 'silent' });
const all = { reports: 1000, bytes: 100_000_000 };
const fault = (number: number, message = 'GPU has fallen off the bus.'): Fault => ({
  id: `kernel/boot/${number}`,
  source: 'kernel',
  code: 'xid/79',
  message,
  seenAt: '2026-11-21T09:15:12.000Z',
});

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-spool-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const open = (more: { directory?: string; maxBytes?: number; changed?: () => void } = {}): Promise<Spool> =>
  openSpool({
    directory: more.directory ?? directory,
    maxBytes: more.maxBytes ?? 1_000_000,
    log,
    changed: more.changed ?? (() => undefined),
  });
const file = () => join(directory, 'spool.jsonl');
const seqs = (spool: Spool) => spool.pending(all).reports.map((report) => report.seq);
const gaps = (spool: Spool) => spool.pending(all).gaps.map(({ gap: { what, lost } }) => ({ what, lost }));

describe('the spool', () => {
  it('numbers reports, notifies of new ones, and returns them in order', async () => {
    let changes = 0;
    const spool = await open({ changed: () => changes++ });
    await Promise.all([spool.append(fault(1)), spool.append(fault(2))]);
    expect(spool.pending(all).reports).toEqual([
      { seq: 1, fault: fault(1) },
      { seq: 2, fault: fault(2) },
    ]);
    expect([changes, spool.settled(), spool.status().waiting]).toEqual([2, true, 2]);
  });

  it('shows no more than asked for, but always one', async () => {
    const spool = await open();
    for (let number = 1; number <= 5; number++) await spool.append(fault(number));
    expect(spool.pending({ reports: 3, bytes: 1_000_000 }).reports).toHaveLength(3);
    expect(spool.pending({ reports: 3, bytes: 1 }).reports).toHaveLength(1);
  });

  it('keeps stream, numbers, reports and gaps across a restart', async () => {
    const before = await open();
    await before.append(fault(1));
    await before.append(fault(2));
    await before.gap({ seenAt: '2026-11-21T09:15:12.000Z', what: 'kernel-log-overrun', lost: 3 });
    const { stream } = before.pending(all);
    const after = await open();
    expect(after.pending(all)).toMatchObject({
      stream,
      reports: [{ seq: 1 }, { seq: 2 }],
      gaps: [{ gap: { what: 'kernel-log-overrun', lost: 3 } }],
    });
    await after.append(fault(3));
    expect(seqs(after)).toEqual([1, 2, 3]);
  });

  it('forgets accepted reports for good, and uses no number twice', async () => {
    const spool = await open();
    for (let number = 1; number <= 3; number++) await spool.append(fault(number));
    await spool.forget({ seq: 2, gap: 0 });
    expect(seqs(spool)).toEqual([3]);
    await spool.forget({ seq: 3, gap: 0 });
    const after = await open();
    expect(seqs(after)).toEqual([]);
    const again = await open();
    await again.append(fault(4));
    expect(seqs(again)).toEqual([4]);
  });

  it('keeps a gap that came after the accepted ones', async () => {
    const spool = await open();
    await spool.gap({ seenAt: 'x', what: 'kernel-log-overrun', lost: 1 });
    const lastGap = spool.pending(all).gaps.at(-1)?.number ?? 0;
    await spool.gap({ seenAt: 'x', what: 'kernel-log-overrun', lost: 2 });
    await spool.forget({ seq: 0, gap: lastGap });
    expect(gaps(spool)).toEqual([{ what: 'kernel-log-overrun', lost: 2 }]);
  });

  it('merges gaps of one kind until they are accepted', async () => {
    const spool = await open();
    for (let count = 0; count < 500; count++) {
      await spool.gap({ seenAt: 'x', what: 'kernel-log-overrun', lost: 2 });
      if (count % 2 === 0) spool.pending(all);
    }
    expect(spool.pending(all).gaps.length).toBeLessThanOrEqual(50);
  });

  it('skips an unfinished last line, says so, and continues', async () => {
    const before = await open();
    await before.append(fault(1));
    await appendFile(file(), '{"report":{"seq":2,"fault":{"id":"ker');
    const after = await open();
    expect([seqs(after), gaps(after)]).toEqual([[1], [{ what: 'state-lost', lost: 1 }]]);
    await after.append(fault(2));
    expect(seqs(await open())).toEqual([1, 2]);
  });

  it('skips damage in the middle', async () => {
    const before = await open();
    await before.append(fault(1));
    await appendFile(file(), 'null\n{}\n\u0000\u0000\n');
    const after = await open();
    expect([seqs(after), gaps(after)]).toEqual([[1], [{ what: 'state-lost', lost: 3 }]]);
  });

  it('begins a new stream when its file is unusable', async () => {
    const { stream } = (await open()).status();
    await writeFile(file(), 'garbage\n');
    const after = await open();
    expect(after.status().stream).not.toBe(stream);
    expect(gaps(after)).toEqual([{ what: 'state-lost', lost: 'unknown' }]);
  });

  it('drops the oldest when it is full, counts them, and stays within its bytes', async () => {
    const maxBytes = 65_536;
    const spool = await open({ maxBytes });
    let largest = 0;
    for (let number = 1; number <= 400; number++) {
      await spool.append(fault(number, 'x'.repeat(400)));
      largest = Math.max(largest, (await stat(file())).size);
    }
    const kept = seqs(spool);
    expect(kept.at(-1)).toBe(400);
    expect(gaps(spool)).toEqual([{ what: 'spool-full', lost: 400 - kept.length }]);
    expect(spool.status().dropped).toBe(400 - kept.length);
    expect(kept.length).toBeGreaterThan(40);
    expect(largest).toBeLessThanOrEqual(maxBytes);
    const after = await open({ maxBytes });
    expect([seqs(after), gaps(after)]).toEqual([kept, gaps(spool)]);
  });

  it('does not let the file grow while everything is accepted', async () => {
    const spool = await open();
    for (let number = 1; number <= 600; number++) {
      await spool.append(fault(number, 'x'.repeat(400)));
      await spool.forget({ seq: number, gap: 0 });
    }
    expect((await stat(file())).size).toBeLessThan(70_000);
    expect((await readFile(file(), 'utf8')).split('\n')[0]).toContain(spool.status().stream);
  });

  it('keeps reports in memory, and says so once, when its directory cannot be written', async () => {
    await writeFile(join(directory, 'file'), '');
    const spool = await open({ directory: join(directory, 'file/below') });
    await spool.append(fault(1));
    await spool.append(fault(2));
    expect([seqs(spool), gaps(spool)]).toEqual([[1, 2], [{ what: 'spool-unwritable', lost: 0 }]]);
    expect([spool.settled(), spool.status().onDisk]).toEqual([false, false]);
    await spool.forget({ seq: 2, gap: 1 });
    expect(spool.settled()).toBe(true);
  });

  it('changes its stream when the disk fails, because the old one is still on it', async () => {
    const spool = await open();
    await spool.append(fault(1));
    const { stream } = spool.status();
    await rm(directory, { recursive: true });
    await writeFile(directory, 'a file where the directory was');
    await spool.append(fault(2));
    expect(spool.status()).toMatchObject({ onDisk: false, waiting: 2 });
    expect(spool.status().stream).not.toBe(stream);
    await chmod(directory, 0o600);
  });

  it('makes its directory', async () => {
    await mkdir(join(directory, 'a'));
    const spool = await open({ directory: join(directory, 'a/b/c') });
    expect(spool.status().onDisk).toBe(true);
  });
});
