import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readChronyc } from '../../../faults/tools/chronyc.ts';
import { judgeDisk } from '../../../faults/tools/disk-state.ts';
import { judgeMounts } from '../../../faults/tools/mounts.ts';
import { readMxSmi } from '../../../faults/tools/mx-smi.ts';
import { recorded } from '../../support/recorded.ts';

const list = recorded('mx-smi-list.txt');
const limits = { gpus: 8, temperature: 85, eccErrors: 64 };
const hotspot = (celsius: string) => `GPU#0  MXC500  0000:08:00.0\n    hotspot(max)      : ${celsius}\n`;
const errors = (count: string) => recorded('mx-smi-ecc.txt').replace(/(Double Bit ECC +: )0/, `$1${count}`);

describe('mx-smi', () => {
  it('finds nothing where every listed GPU is available', () => {
    expect(readMxSmi(list)).toEqual({ devices: 2, faults: [], unobservable: [] });
  });

  it('finds a GPU that is listed and not available, and GPUs that are not listed', () => {
    expect(readMxSmi(recorded('mx-smi-unavailable.txt'))).toMatchObject({
      faults: [{ code: 'smi/gpu-unavailable', device: '0000:3b:00', action: 'reboot' }],
    });
    expect(readMxSmi(list, limits).faults).toMatchObject([
      { code: 'smi/gpu-missing', message: 'mx-smi lists 2 of 8 GPUs' },
    ]);
  });

  it.each([
    ['84.99C', []],
    ['85.00 C', ['smi/too-hot']],
    ['85', ['smi/too-hot']],
    ['-3', []],
  ])('compares a hotspot of %s with the limit of 85 C', (celsius, codes) => {
    expect(readMxSmi(hotspot(celsius), limits).faults.map(({ code }) => code)).toEqual(codes);
  });

  it.each([
    ['64', []],
    ['65', ['smi/ecc-limit']],
  ])('compares %s double-bit errors with the limit of 64', (count, codes) => {
    expect(readMxSmi(errors(count), limits).faults.map(({ code }) => code)).toEqual(codes);
  });

  it.each([hotspot('N/A'), hotspot('hot'), errors('?'), errors('')])(
    'cannot observe a value that is no number: %j',
    (text) => {
      expect(readMxSmi(text, limits)).toMatchObject({
        faults: [],
        unobservable: [{ what: expect.stringContaining('GPU#0') }],
      });
    },
  );

  it('says nothing where it lists no GPU, as on a node of another vendor', () => {
    expect(readMxSmi('mx-smi  version: 2.2.9\n', limits)).toMatchObject({ devices: 0, faults: [], unobservable: [{}] });
  });
});

describe('chronyc', () => {
  const normal = recorded('chronyc-normal.csv');
  const offset = (seconds: string) => normal.replace('0.000123', seconds);

  it.each([
    [offset('0.000123'), []],
    [offset('0.009999'), []],
    [offset('-0.010001'), ['clock/offset']],
    [recorded('chronyc-not-synchronised.csv'), ['clock/not-synchronised']],
    [normal.replace('Normal', 'Insert second'), []],
  ])('judges %s', (text, codes) => {
    const { faults, unobservable } = readChronyc(text);
    expect(faults.map(({ code }) => code)).toEqual(codes);
    expect(faults.every(({ action }) => action === undefined)).toBe(true);
    expect(unobservable).toEqual([]);
  });

  it.each([
    '',
    '506 Cannot talk to daemon\n',
    '1,2,3\n',
    offset('nan'),
    offset('1e9'),
    normal.replace('Normal', 'Odd'),
  ])('says nothing where it prints %j', (text) => {
    expect(readChronyc(text)).toMatchObject({ devices: 0, faults: [], unobservable: [{ source: 'clock' }] });
  });
});

describe('the mount table of a node', () => {
  const table = [
    '/dev/nvme0n1p1 / ext4 rw,relatime,errors=remount-ro 0 0',
    '/dev/mapper/data-vg /data xfs ro,relatime 0 0',
    'tmpfs /with\\040blank tmpfs ro,size=1k 0 0',
    'overlay /twice overlay ro 0 0',
    '/dev/sdb /twice ext4 rw 0 0',
    '',
  ].join('\n');

  it('finds only mount points that were named and are read-only now', () => {
    expect(judgeMounts(table, ['/', '/data', '/twice'])).toEqual({
      faults: [expect.objectContaining({ code: 'disk/read-only', device: 'data-vg', action: 'reboot' })],
      unobservable: [],
    });
    expect(judgeMounts(table, ['/with blank']).faults).toHaveLength(1);
  });

  it('cannot observe a mount point where nothing is mounted', () => {
    expect(judgeMounts(table, ['/scratch'])).toEqual({
      faults: [],
      unobservable: [{ source: 'disk', what: '/scratch', because: 'nothing is mounted there' }],
    });
  });
});

describe('the state of a disk', () => {
  it.each([
    ['running\n', 0, 0],
    ['live\n', 0, 0],
    ['offline\n', 1, 0],
    ['dead\n', 1, 0],
    ['blocked\n', 0, 1],
    ['resetting\n', 0, 1],
    ['constructor', 0, 1],
    ['', 0, 1],
  ])('that reads %j is a fault only where the disk has failed', (state, faults, unobservable) => {
    const found = judgeDisk({ name: 'nvme0', pci: '0000:01:00', state });
    expect([found.faults.length, found.unobservable.length]).toEqual([faults, unobservable]);
  });
});

describe('readers of values', () => {
  it('never throw, and find nothing in other text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const found = [
          readMxSmi(text, limits),
          readChronyc(text),
          judgeMounts(text, ['/']),
          judgeDisk({ name: 'sda', state: text }),
        ];
        expect(found.flatMap(({ faults }) => faults)).toEqual([]);
      }),
    );
  });
});
