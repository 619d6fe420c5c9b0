import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createLineJoiner, joinedLength, parseCriLine } from '../../../faults/logs/cri-line.ts';

const at = '2026-11-22T12:00:00.123456789Z';
const all = (...lines: readonly string[]) => {
  const joiner = createLineJoiner();
  return lines.flatMap((line) => joiner.take(line));
};

describe('the log of a container runtime', () => {
  it('has time, stream and tag before the text', () => {
    expect(parseCriLine(`${at} stderr F step 7`)).toEqual({ at, stream: 'stderr', partial: false, text: 'step 7' });
    expect(parseCriLine(`${at} stdout P:x  padded `)).toMatchObject({ partial: true, text: ' padded ' });
    expect(parseCriLine(`${at} stdout F`)).toMatchObject({ text: '' });
  });

  it.each(['step 7', `${at} stdin F x`, `${at} stdout Q x`, '2026-11-22 12:00:00 stdout F x', ''])(
    'is not: %s',
    (line) => {
      expect(parseCriLine(line)).toBeUndefined();
    },
  );

  it('joins the parts of a line, for each stream by itself', () => {
    expect(
      all(`${at} stdout P ab`, `${at} stderr P 1`, `${at} stdout P c`, `${at} stderr F 2`, `${at} stdout F d`),
    ).toEqual([
      { at, text: '12' },
      { at, text: 'abcd' },
    ]);
  });

  it('gives the states of a progress bar before its line ends', () => {
    expect(all(`${at} stderr P 1%\r2%\r3`, `${at} stderr F %`)).toEqual([
      { at, text: '1%\r2%' },
      { at, text: '3%' },
    ]);
  });

  it('keeps a bounded part of a line that never ends', () => {
    const part = `${at} stdout P ${'x'.repeat(16_384)}`;
    const [line] = all(...Array<string>(1000).fill(part), `${at} stdout F y`);
    expect(line?.text).toHaveLength(joinedLength);
  });

  it('takes lines of kubectl logs as they are, and their times where it prints them', () => {
    expect(all('step 7', `${at} step 8`)).toEqual([{ text: 'step 7' }, { at, text: 'step 8' }]);
  });

  it('loses nothing of what a process wrote', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.string({ unit: fc.constantFrom('a', ' ', '1', '\r') })), { maxLength: 20 }),
        (parts) => {
          const lines = [...parts, [false, 'end'] as const].map(
            ([partial, text]) => `${at} stdout ${partial ? 'P' : 'F'} ${text}`,
          );
          const strip = (text: string): string => text.replaceAll('\r', '');
          expect(
            strip(
              all(...lines)
                .map(({ text }) => text)
                .join(''),
            ),
          ).toBe(strip([...parts.map(([, text]) => text), 'end'].join('')));
        },
      ),
    );
  });
});
