import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import type { RunningDetector } from '../../agent/detectors/detector.ts';
import { link } from '../../agent/detectors/link.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { reportedFault } from '../../contract/wire/reports.schema.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { MadeUpSysfs } from '../support/made-up-sysfs.ts';
import { until } from './until.ts';

const log = pino({ level: 'silent' });
const downMs = 300;

let root = '';
let sysfs: MadeUpSysfs;
let running: RunningDetector[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kcover-node-'));
  await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
  await boot('boot-1');
  sysfs = await new MadeUpSysfs(root).create();
});

afterEach(async () => {
  await Promise.all(running.map((detector) => detector.stop()));
  running = [];
  jest.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

const boot = (id: string) => writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${id}\n`);
const stateFile = () => join(root, 'state/link.json');

/** A detector with what it reported so far. */
function observe(more: { devices?: string[]; down?: string; settled?: (faults: readonly Fault[]) => boolean } = {}) {
  const faults: Fault[] = [];
  const gaps: string[] = [];
  const detector = link.start({
    settings: agentSettings.parse({
      links: { devices: more.devices ?? ['mlx5_*'], every: '30ms', down: more.down ?? `${downMs}ms` },
    }),
    node: 'gpu-3',
    hostRoot: root,
    stateDirectory: join(root, 'state'),
    log,
    fault: async (fault) => void faults.push(fault),
    gap: async ({ what }) => void gaps.push(what),
    settled: () => more.settled?.(faults) ?? true,
  });
  running.push(detector);
  return {
    detector,
    faults,
    gaps,
    codes: () => faults.map(({ code }) => code),
    because: () => detector.status().because,
  };
}
type Observed = ReturnType<typeof observe>;

/** Waits until everything was read so many times again. */
async function polls({ detector }: Observed, times = 3): Promise<void> {
  const from = detector.status().read;
  await until(() => detector.status().state === 'watching' && detector.status().read >= from + times);
}
const says = (seen: Observed, state: string, words: string) =>
  until(() => seen.detector.status().state === state && seen.because().includes(words));
/** Long enough for a fault: what has not come by then does not come. */
const aWhile = () => sleep(2 * downMs);

describe('a link that was up', () => {
  it('is a fault once when it stays down, and a new one when it falls again', async () => {
    await sysfs.add();
    const seen = observe();
    await polls(seen);
    expect(seen.because()).toBe('reading 1 ports');
    await sysfs.down();
    await until(() => seen.faults.length > 0);
    await aWhile();
    expect(seen.faults).toEqual([
      {
        id: expect.stringMatching(/^link\/gpu-3\/mlx5_0\/1\/down\/20\d\d-[\dT:.-]+Z$/),
        source: 'link',
        code: 'link/down',
        message: expect.stringMatching(/^InfiniBand link mlx5_0 port 1 is DOWN \(Polling\) since 20/),
        seenAt: expect.any(String),
        node: 'gpu-3',
        device: '0000:5d:00',
        action: 'contact-support',
      },
    ]);
    expect(reportedFault.parse(seen.faults[0])).toEqual(seen.faults[0]);
    expect(seen.because()).toBe('reading 1 ports; not ACTIVE: mlx5_0/1');
    await sysfs.up();
    await says(seen, 'watching', 'reading 1 ports');
    await polls(seen);
    await sysfs.down();
    await until(() => seen.faults.length > 1);
    expect(new Set(seen.faults.map(({ id }) => id)).size).toBe(2);
  });

  it('is gone with its device, also with the last one and the whole class', async () => {
    await sysfs.add();
    await sysfs.add({ device: 'mlx5_1', pci: '0000:5e:00.0' });
    const seen = observe();
    await polls(seen);
    await sysfs.remove('mlx5_1');
    await until(() => seen.faults.length > 0);
    expect(seen.faults).toMatchObject([{ code: 'link/gone', device: '0000:5e:00', action: 'contact-support' }]);
    expect(seen.because()).toBe('reading 1 ports; gone: mlx5_1');
    await rm(join(root, 'sys/class/infiniband'), { recursive: true });
    await until(() => seen.faults.length > 1);
    expect(seen.faults[1]).toMatchObject({ code: 'link/gone', device: '0000:5d:00' });
  });

  it('is flapping when it falls three times and is back each time, which needs no action', async () => {
    await sysfs.add();
    const seen = observe({ down: '10s' });
    await polls(seen);
    for (let time = 0; time < 4; time += 1) {
      await sysfs.down();
      await polls(seen);
      await sysfs.up();
      await polls(seen);
    }
    expect(seen.faults).toMatchObject([{ code: 'link/flapping' }]);
    expect(seen.faults[0]).not.toHaveProperty('action');
  });

  it.each(['2020-01-01T00:00:00Z', '2038-01-01T00:00:00Z'])(
    'is judged by the time that has passed, although the clock is set to %s',
    async (time) => {
      await sysfs.add();
      const seen = observe({ down: '2s' });
      await polls(seen);
      await sysfs.down();
      await polls(seen);
      jest.useFakeTimers({ now: new Date(time), doNotFake: [...everythingButDate] });
      try {
        await sleep(downMs);
        await polls(seen);
        expect(seen.faults).toEqual([]);
        await until(() => seen.faults.length > 0);
        expect(seen.faults).toMatchObject([{ code: 'link/down', seenAt: expect.stringContaining(time.slice(0, 10)) }]);
        expect(seen.faults[0]?.id).not.toContain(time.slice(0, 4));
      } finally {
        jest.useRealTimers();
      }
    },
  );
});

const everythingButDate = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

describe('a restart of the agent', () => {
  it('forgets neither that a link was up nor since when it is down', async () => {
    await sysfs.add();
    const first = observe({ down: '1s' });
    await polls(first);
    await sysfs.down();
    await polls(first);
    await first.detector.stop();
    const second = observe({ down: '1s' });
    await until(() => second.faults.length > 0);
    await second.detector.stop();
    const third = observe({ down: '1s' });
    await polls(third);
    expect([first.faults, third.faults, second.gaps]).toEqual([[], [], []]);
    expect(second.codes()).toEqual(['link/down']);
  });

  it('finds a link that fell, or whose device went, while no agent ran', async () => {
    await sysfs.add();
    await sysfs.add({ device: 'mlx5_1' });
    const first = observe();
    await polls(first);
    await first.detector.stop();
    await sysfs.down();
    await sysfs.remove('mlx5_1');
    const second = observe();
    await until(() => second.faults.length > 1);
    expect(second.codes().toSorted()).toEqual(['link/down', 'link/gone']);
  });

  it('reports a fault again, under the same id, when it was never safe', async () => {
    await sysfs.add();
    const first = observe({ down: '2s', settled: (faults) => faults.length === 0 });
    await polls(first);
    await sysfs.down();
    await until(() => first.faults.length > 0);
    await first.detector.stop();
    const second = observe({ down: '2s' });
    await until(() => second.faults.length > 0);
    expect(second.faults[0]?.id).toBe(first.faults[0]?.id);
  });

  it('of the node makes every link new: one that is down from the start is no fault', async () => {
    await sysfs.add();
    const first = observe();
    await polls(first);
    await first.detector.stop();
    await boot('boot-2');
    await sysfs.down();
    const second = observe();
    await polls(second);
    await aWhile();
    expect(second.faults).toEqual([]);
  });

  it.each(['{', '[]', '{"bootId":"boot-1","ports":[{}]}'])(
    'says that its state is lost when the file has %s',
    async (text) => {
      await mkdir(join(root, 'state'));
      await writeFile(stateFile(), text);
      await sysfs.add();
      const seen = observe();
      await polls(seen);
      expect(seen.gaps).toEqual(['state-lost']);
    },
  );
});

describe('what is no fault', () => {
  it('a link that is down at the start, until it was up', async () => {
    await sysfs.add({ state: '1: DOWN', physState: '3: Disabled' });
    const seen = observe();
    await polls(seen);
    await aWhile();
    expect(seen.faults).toEqual([]);
    await sysfs.up();
    await says(seen, 'watching', 'reading 1 ports');
    await polls(seen);
    await sysfs.down();
    await until(() => seen.faults.length > 0);
  });

  it('anything while no device is named: the detector is off, which is not unavailable', async () => {
    const seen = observe({ devices: [] });
    expect(seen.detector.status()).toEqual({
      state: 'off',
      because: 'links.devices of the settings is empty',
      read: 0,
    });
  });

  it('a device that is not named, whatever it contains', async () => {
    await sysfs.add();
    await sysfs.add({ device: 'mlx4_0' });
    await sysfs.add({ device: 'rxe\n0' });
    const seen = observe({ devices: ['mlx5_0', 'rxe*'] });
    await polls(seen);
    await sysfs.write('state', 'nonsense', 'mlx4_0');
    await sysfs.remove('mlx4_0');
    await aWhile();
    expect([seen.faults, seen.detector.status().state, seen.because()]).toEqual([[], 'watching', 'reading 1 ports']);
  });

  it('a node without RDMA devices, or without those that are named', async () => {
    const seen = observe();
    await says(seen, 'watching', 'the node has no RDMA port that the settings name');
    await sysfs.add({ device: 'efa_0', layer: 'Unknown' });
    await aWhile();
    expect([seen.faults, seen.detector.status().state]).toEqual([[], 'watching']);
  });

  it('a sysfs that is not mounted, or no longer is', async () => {
    await sysfs.add();
    const seen = observe();
    await polls(seen);
    await rename(join(root, 'sys'), join(root, 'away'));
    await says(seen, 'unavailable', 'sys/class');
    await mkdir(join(root, 'sys/class'), { recursive: true });
    await says(seen, 'unavailable', 'mount /sys');
    await aWhile();
    expect(seen.faults).toEqual([]);
  });
});

describe('a file of unknown form', () => {
  const hostile: readonly (readonly [string, () => Promise<void>])[] = [
    ['is of a mebibyte', () => sysfs.write('state', Buffer.alloc(1024 * 1024, '1: DOWN\n'))],
    ['is empty', () => sysfs.write('state', Buffer.alloc(0))],
    ['has control characters', () => sysfs.write('state', '1: DOWN\u001B]0;owned\u0007')],
    ['is not UTF-8', () => sysfs.write('state', Buffer.from([0x31, 0x3a, 0x20, 0xff, 0xfe]))],
    ['has another number than its name', () => sysfs.write('state', '4: DOWN')],
    ['has an unknown link layer', () => sysfs.write('link_layer', 'Token Ring')],
    ['is a link to outside', () => replace(() => symlink('/etc/hostname', sysfs.file('state')))],
    ['is a FIFO', () => replace(async () => void execFileSync('mkfifo', [sysfs.file('state')]))],
    ['is gone', () => rm(sysfs.file('state'))],
    ['has lost its port', () => rm(join(sysfs.file('state'), '..'), { recursive: true })],
    ['has a device that is a link to outside', () => replaceEntry('/tmp')],
    ['has a device that is a link to nothing', () => replaceEntry('../../devices/nothing\u001B[31m')],
  ];
  const replace = async (make: () => Promise<void>) => rm(sysfs.file('state')).then(make);
  const replaceEntry = async (target: string) =>
    rm(sysfs.entry('mlx5_0')).then(() => symlink(target, sysfs.entry('mlx5_0')));

  it.each(hostile)('%s: the detector is unavailable and says why, and goes on with other devices', async (_, spoil) => {
    await sysfs.add();
    await sysfs.add({ device: 'mlx5_1' });
    const seen = observe();
    await polls(seen);
    await spoil();
    await says(seen, 'unavailable', 'mlx5_0');
    await aWhile();
    expect(seen.faults).toEqual([]);
    expect(seen.because()).toMatch(/^\P{Cc}{1,300}$/u);
    await sysfs.down('mlx5_1');
    await until(() => seen.faults.length > 0);
    expect(seen.faults).toMatchObject([{ code: 'link/down', message: expect.stringContaining('mlx5_1') }]);
  });

  it('is read again as soon as it can be: the link was not down meanwhile', async () => {
    await sysfs.add();
    const seen = observe();
    await polls(seen);
    await sysfs.write('state', '9: NEW');
    await says(seen, 'unavailable', 'unknown form');
    await aWhile();
    await sysfs.up();
    await polls(seen);
    expect(seen.faults).toEqual([]);
  });
});
