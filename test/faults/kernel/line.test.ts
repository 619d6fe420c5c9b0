import { describe, expect, it } from '@jest/globals';
import { parseKernelLine } from '../../../faults/kernel/line.ts';

const text = 'NVRM: Xid (PCI:0000:5d:00): 79, x';

describe('a line of the kernel log', () => {
  it.each([
    [
      'a record of the device',
      `6,1234,98765432,-;${text}`,
      { text, sequence: 1234, monotonicUs: 98_765_432, level: 6 },
    ],
    [
      'a record with continuation lines',
      `4,1,2,-,caller=T1;${text}\n SUBSYSTEM=pci\n`,
      { text, sequence: 1, monotonicUs: 2, level: 4 },
    ],
    ['a record from user space', `12,7,8,-;${text}`, { text, sequence: 7, monotonicUs: 8, level: 4, userSpace: true }],
    ['a record of a daemon', `30,7,8,-;${text}`, { text, sequence: 7, monotonicUs: 8, level: 6, userSpace: true }],
    [
      'dmesg --raw of a line from user space',
      `<12>[   12.000000] ${text}`,
      { text, level: 4, monotonicUs: 12_000_000, userSpace: true },
    ],
    [
      'a record with numbers beyond counting',
      `6,99999999999999999999,99999999999999999999,-;${text}`,
      { text, level: 6 },
    ],
    ['dmesg', `[12345.678901] ${text}`, { text, monotonicUs: 12_345_678_901 }],
    ['dmesg of another precision', `[12345.678] ${text}`, { text, monotonicUs: 12_345_678_000 }],
    ['the tail of a syslog line', `kernel: [    1.5] ${text}`, { text, monotonicUs: 1_500_000 }],
    ['dmesg soon after boot, with the caller', `[    1.000002] [ T1234] ${text}`, { text, monotonicUs: 1_000_002 }],
    ['dmesg -T', `[Sat Nov 21 09:15:12 2026] ${text}`, { text }],
    ['dmesg --raw', `<4>[   12.000000] ${text}`, { text, level: 4, monotonicUs: 12_000_000 }],
    ['dmesg --decode', `kern  :warn  : [   12.000000] ${text}`, { text, monotonicUs: 12_000_000 }],
    ['dmesg --time-format iso', `2026-11-21T09:15:12,123456+00:00 ${text}`, { text }],
    ['journalctl', `Nov 21 09:15:12 gpu-3 kernel: ${text}`, { text }],
    ['journalctl -o short-iso', `2026-11-21T09:15:12+0000 gpu-3 kernel: ${text}`, { text }],
    [
      'syslog with the kernel time',
      `Nov  1 09:15:12 gpu-3 kernel: [   12.000001] ${text}`,
      { text, monotonicUs: 12_000_001 },
    ],
    ['bare text', text, { text }],
    ['an empty line', '', { text: '' }],
    ['control characters and text direction marks', `a\u0007\u001b[31mb\u202ec\r`, { text: 'a bc' }],
  ])('is understood as %s', (_name, raw, expected) => {
    expect(parseKernelLine(raw)).toEqual(expected);
  });

  it('is cut when it is huge', () => {
    expect(parseKernelLine('x'.repeat(1_000_000)).text).toHaveLength(4096);
  });
});
