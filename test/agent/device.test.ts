import { open, writeFile } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openHostFile } from '../../agent/host-root.ts';
import { readDevice } from '../../agent/kernel-log/device.ts';
import { followKernelLog } from '../../agent/kernel-log/follow.ts';
import type { Begin, LogRead } from '../../agent/kernel-log/source.ts';
import { parseKernelLine } from '../../faults/kernel/line.ts';
import { KcoverError } from '../../contract/errors.ts';

type ReadStep = number | 'none' | 'overrun' | 'too-large';

/** A device with the given answers. */
async function device(begin: Begin, steps: ReadStep[]) {
  const file = await open('/dev/null');
  const seen: string[] = [];
  const source = readDevice(
    file,
    begin,
    (line) => seen.push(line),
    () => {
      const step = steps.shift() ?? 'none';
      return typeof step === 'number' ? { kind: 'record', raw: `6,${step},1,-;line ${step}\n` } : { kind: step };
    },
  );
  return { source, seen };
}
const summary = (look: LogRead) =>
  look.kind === 'lines'
    ? { sequences: look.lines.map((line) => line.sequence), next: look.next, lost: look.lost ?? 0 }
    : look;

describe('the kernel log as a device', () => {
  const cases: readonly (readonly [name: string, begin: Begin, steps: ReadStep[], expected: object])[] = [
    ['reads until there is nothing more', 0, [0, 1, 2], { sequences: [0, 1, 2], next: 3, lost: 0 }],
    [
      'passes over what was there when it begins at the end',
      'end',
      [5, 6, 'none', 7],
      { sequences: [], next: 7, lost: 0 },
    ],
    ['goes on after what was read before', 6, [5, 6, 7], { sequences: [6, 7], next: 8, lost: 0 }],
    ['counts what was overwritten unread', 6, [20, 21], { sequences: [20, 21], next: 22, lost: 14 }],
    [
      'counts what was overwritten while it read',
      0,
      [0, 'overrun', 10, 11],
      { sequences: [0, 10, 11], next: 12, lost: 9 },
    ],
    ['does not count numbers that the kernel left out', 3, [2, 3, 5], { sequences: [3, 5], next: 6, lost: 0 }],
    ['counts a record that does not fit', 0, [0, 'too-large', 2], { sequences: [0, 2], next: 3, lost: 1 }],
    ['loses nothing where the first boot record is the first it wants', 0, [7], { sequences: [7], next: 8, lost: 0 }],
  ];
  it.each(cases)('%s', async (_name, begin, steps, expected) => {
    const { source } = await device(begin, steps);
    expect(summary(await source.look())).toEqual(expected);
    await source.close();
  });

  it('processes what comes after the end at which it began', async () => {
    const { source, seen } = await device('end', [5, 6, 'none', 7]);
    await source.look();
    expect(summary(await source.look())).toEqual({ sequences: [7], next: 8, lost: 0 });
    expect(seen).toHaveLength(2);
    await source.close();
  });

  it('takes a full log in portions', async () => {
    const { source } = await device(
      0,
      Array.from({ length: 1000 }, (_, index) => index),
    );
    expect(await source.look()).toMatchObject({ more: true, next: 512 });
    expect(await source.look()).toMatchObject({ more: false, next: 1000 });
    await source.close();
  });
});

/** The error of opening or reading the real device; undefined when this machine allows both. */
async function obstacle(): Promise<unknown> {
  try {
    const file = await openHostFile('/', '/dev/kmsg', { device: true });
    await file.close();
    return undefined;
  } catch (error) {
    return error;
  }
}

const writable = (): Promise<boolean> =>
  writeFile('/dev/kmsg', '<6>kcover test: the kernel log can be written\n', { flag: 'a' }).then(
    () => true,
    () => false,
  );

describe('the real /dev/kmsg', () => {
  it('is followed from its end, or refused with a clear error where it may not be read', async () => {
    const error = await obstacle();
    if (error !== undefined) {
      expect(error).toBeInstanceOf(KcoverError);
      expect(error).toMatchObject({ because: expect.stringMatching(/\/dev\/kmsg/) });
      return;
    }

    const state = await mkdtemp(join(tmpdir(), 'kcover-kmsg-'));
    const marker = `kcover test marker ${process.pid} ${Date.now()}`;
    const lines: { text: string; sequence: number; bootId: string }[] = [];
    const follower = followKernelLog({
      hostRoot: '/',
      path: '/dev/kmsg',
      stateDirectory: state,
      log: pino({ level: 'silent' }),
      seen: () => undefined,
      gap: async () => undefined,
      settled: () => true,
      line: async (raw, position) => {
        lines.push({ text: parseKernelLine(raw).text, ...position });
        return false;
      },
    });
    try {
      await setTimeout(500);
      expect(follower.status().state).toBe('watching');
      expect(lines.filter((line) => line.sequence === 0)).toEqual([]);
      if (!(await writable())) return;
      await writeFile('/dev/kmsg', `<6>${marker}\n`, { flag: 'a' });
      const deadline = Date.now() + 5000;
      while (!lines.some((line) => line.text === marker) && Date.now() < deadline) await setTimeout(10);
      expect(lines.find((line) => line.text === marker)).toMatchObject({
        bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        sequence: expect.any(Number),
      });
    } finally {
      await follower.stop();
      await rm(state, { recursive: true, force: true });
    }
  });
});
