import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lutimes, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { RecordBounds } from '../../activities/old-records.ts';
import { directoryRecords, recordActivities, recordFile } from '../../activities/records.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { settings } from '../support/builders.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-old-records-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const day = 86_400_000;
const now = Date.parse('2026-11-21T12:00:00Z');
const daysAgo = (days: number): string => new Date(now - days * day).toISOString();
const recovery = (days: number, namespace = 'train') => `recovery/${namespace}/llm/0b1c/${daysAgo(days)}`;
const quarantine = (days: number, node = 'gpu-3') => `node/${node}/${daysAgo(days)}`;
const ended = { ended: { at: '', outcome: 'released', because: '' } };

const { keep: keepMs, most, share } = settings().records;
const usual: RecordBounds = { keepMs, most, share, memoryMs: settings().remediation.memory.window };
const sweep = (bounds: Partial<RecordBounds> = {}, signal = new AbortController().signal) =>
  directoryRecords(directory, { ...usual, ...bounds }).sweep(now, signal);
const left = async (): Promise<string[]> => (await readdir(directory)).toSorted();
const filesOf = (...incidents: string[]): string[] => incidents.map(recordFile).toSorted();

/** A record that was last written so many days ago. */
async function record(incident: string, days: number, content: object | string = {}): Promise<string> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return file(recordFile(incident), days, text);
}

async function file(name: string, days: number, text = 'x'): Promise<string> {
  await writeFile(join(directory, name), text);
  await utimes(join(directory, name), (now - days * day) / 1000, (now - days * day) / 1000);
  return name;
}

describe('records that are too old', () => {
  it('go, and the others stay', async () => {
    await record(recovery(500), 500);
    await record(quarantine(450), 449, ended);
    const kept = [
      await record(recovery(399), 399),
      // It was opened long ago, and ended within the time that is kept.
      await record(quarantine(420, 'gpu-4'), 390, ended),
    ];
    expect(await sweep()).toBe(2);
    expect(await left()).toEqual(kept.toSorted());
  });

  it('stay when they are kept forever, and without bounds', async () => {
    await record(recovery(3000), 3000);
    expect(await sweep({ keepMs: settings({ records: { keep: 'forever' } }).records.keep })).toBe(0);
    expect(await directoryRecords(directory).sweep(now, new AbortController().signal)).toBe(0);
    expect(await left()).toEqual(filesOf(recovery(3000)));
  });

  it('are not kept for longer than dates reach, except forever', () => {
    expect(() => settings({ records: { keep: '3651d' } })).toThrow('must be at most 3650d, or forever');
    expect(() => settings({ records: { keep: 'for ever' } })).toThrow('must be a duration such as 30d, or forever');
  });

  it('stay while the quarantine is open: only the newest of a node can be', async () => {
    await record(quarantine(500), 500);
    await record(quarantine(450), 450);
    await record(quarantine(460, 'gpu-4'), 460, 'not JSON');
    expect(await sweep()).toBe(1);
    expect(await left()).toEqual(filesOf(quarantine(450), quarantine(460, 'gpu-4')));
  });

  it('stay as long as the memory of machines needs them', async () => {
    await record(quarantine(20), 19, ended);
    await record(quarantine(29, 'gpu-4'), 29, ended);
    await record(recovery(20), 20);
    expect(await sweep({ keepMs: day })).toBe(2);
    expect(await left()).toEqual(filesOf(quarantine(20)));
  });

  it('stay for the next look when no time is left, or what was begun is enough', async () => {
    for (let each = 0; each < 1002; each++) await record(`recovery/train/llm/${each}/${daysAgo(500)}`, 500);
    expect(await sweep({}, AbortSignal.abort())).toBe(0);
    expect(await sweep()).toBe(1000);
    expect(await sweep()).toBe(2);
  });
});

describe('records that are too many', () => {
  const kilobyte = 'x'.repeat(1000);

  it('go, the oldest first, until the rest is within the limit', async () => {
    await record(recovery(5), 5, kilobyte);
    await record(recovery(4, 'other'), 4, kilobyte);
    await record(recovery(3), 3, kilobyte);
    expect(await sweep({ most: 2000, share: 100 })).toBe(1);
    expect(await left()).toEqual(filesOf(recovery(4, 'other'), recovery(3)));
  });

  it('of one namespace go, and what others keep stays though it is older', async () => {
    await record(recovery(9, 'quiet'), 9, kilobyte);
    await record(quarantine(40), 40, JSON.stringify({ ...ended, kilobyte }));
    for (const days of [5, 4, 3]) await record(recovery(days, 'loud'), days, kilobyte);
    expect(await sweep({ most: 10_000, share: 20 })).toBe(1);
    expect(await left()).toEqual(
      filesOf(recovery(9, 'quiet'), quarantine(40), recovery(4, 'loud'), recovery(3, 'loud')),
    );
  });

  it('stay where they are open, remembered or written just now, even beyond the limit', async () => {
    await record(quarantine(100), 100, { kilobyte });
    await record(quarantine(10, 'gpu-4'), 10, { ...ended, kilobyte });
    await record(recovery(1), 0, kilobyte);
    expect(await sweep({ most: 1 })).toBe(0);
    expect(await left()).toHaveLength(3);
  });
});

describe('what is no record', () => {
  it('stays, whatever it is called', async () => {
    const old = recordFile(recovery(500));
    const outside = await mkdtemp(join(tmpdir(), 'kcover-outside-'));
    await writeFile(join(outside, 'target'), 'x');
    await symlink(join(outside, 'target'), join(directory, old));
    await mkdir(join(directory, recordFile(recovery(501))));
    for (const name of filesOf(recovery(500), recovery(501))) await lutimes(join(directory, name), 1, 1);
    const names = [
      'somebody-else_2024-01-01T000000.000Z.json',
      'recovery__llm_0b1c_2024-01-01T000000.000Z.json',
      'recovery_train_llm_0b1c_2024-01-01T000000.000Z.json.bak',
      'node_gpu-3_2024-01-01.json',
      `${old}\n.part`,
      '\u001B[2J.json',
    ];
    for (const name of names) await file(name, 700);
    expect(await sweep({ most: 1 })).toBe(0);
    expect(await left()).toEqual([...names, old, recordFile(recovery(501))].toSorted());
    expect(await readdir(outside)).toEqual(['target']);
    await rm(outside, { recursive: true });
  });

  it('goes when it is part of a write that was cut off', async () => {
    await file(`${recordFile(recovery(3))}.4242.k3j9x0.part`, 1);
    const running = await file(`${recordFile(recovery(2))}.4243.k3j9x1.part`, 0);
    const foreign = await file('upload.4243.k3j9x1.part', 3);
    expect(await sweep()).toBe(0);
    expect(await left()).toEqual([running, foreign].toSorted());
  });
});

describe('a worker', () => {
  const quiet = pino({ level: 'silent' });
  const ending = (at: number) =>
    ({ incident: `recovery/train/llm/new/${new Date(at).toISOString()}` }) as IncidentRecord;

  it('removes what is too old when an incident is recorded, at most once an hour, and again after a restart', async () => {
    let clock = now;
    const start = () => recordActivities({ records: directoryRecords(directory, usual), now: () => clock, log: quiet });
    const first = start();
    await record(recovery(500), 500);
    await first.recordIncident(ending(clock));
    expect(await left()).toHaveLength(1);

    await record(recovery(500), 500);
    clock += 1_800_000;
    await first.recordIncident(ending(clock));
    expect(await left()).toContain(recordFile(recovery(500)));
    await start().recordIncident(ending(clock));
    expect(await left()).not.toContain(recordFile(recovery(500)));

    await record(recovery(500), 500);
    clock += 1_800_000;
    await first.recordIncident(ending(clock));
    expect(await left()).not.toContain(recordFile(recovery(500)));
  });

  it('has kept the record though nothing can be removed', async () => {
    const records = directoryRecords(directory, usual);
    const { recordIncident } = recordActivities({
      records: {
        ...records,
        sweep: () => directoryRecords(join(directory, 'none'), usual).sweep(now, new AbortController().signal),
      },
      now: () => now,
      log: quiet,
    });
    await expect(recordIncident(ending(now))).resolves.toEqual({
      address: join(directory, recordFile(ending(now).incident)),
    });
  });
});
