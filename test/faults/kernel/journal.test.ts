import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { kernelTextOf } from '../../../faults/kernel/journal.ts';
import { parseKernelLine } from '../../../faults/kernel/line.ts';

const MESSAGE = 'NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.';

/** As `journalctl -k -o json` prints it; fields of systemd.journal-fields(7). */
const entry = (more: object = {}): string =>
  JSON.stringify({
    __REALTIME_TIMESTAMP: '1763708400000000',
    PRIORITY: '3',
    SYSLOG_IDENTIFIER: 'kernel',
    _TRANSPORT: 'kernel',
    _BOOT_ID: '2f1b03c3e2104787adb361b0dfd671fc',
    _SOURCE_MONOTONIC_TIMESTAMP: '1337051914',
    MESSAGE,
    ...more,
  });

describe('a journal entry', () => {
  it('is the line of the kernel with its time', () => {
    expect(parseKernelLine(kernelTextOf(entry()))).toEqual({ text: MESSAGE, monotonicUs: 1_337_051_914 });
  });

  it('has no time where the journal gives none', () => {
    for (const time of [undefined, 'soon', '-1'])
      expect(kernelTextOf(entry({ _SOURCE_MONOTONIC_TIMESTAMP: time }))).toBe(MESSAGE);
  });

  it('of a program says nothing, whatever it claims to be', () => {
    expect(kernelTextOf(entry({ _TRANSPORT: 'stdout' }))).toBe('');
    expect(kernelTextOf(entry({ _TRANSPORT: 'syslog' }))).toBe('');
  });

  it.each([MESSAGE, '{"a": 1}', '{', '{"MESSAGE": [78, 86]}', `{"MESSAGE": "${'x'.repeat(40_000)}"}`])(
    'is not every other line: %.20s',
    (line) => expect(kernelTextOf(line)).toBe(line),
  );

  it('never makes the reader fail', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc
            .dictionary(fc.constantFrom('MESSAGE', '_TRANSPORT', '_SOURCE_MONOTONIC_TIMESTAMP'), fc.jsonValue())
            .map((value) => JSON.stringify(value)),
        ),
        (line) => {
          expect(typeof kernelTextOf(line)).toBe('string');
        },
      ),
    ));
});
