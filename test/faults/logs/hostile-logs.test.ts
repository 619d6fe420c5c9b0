import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { logFindings } from '../../../faults/logs/log-findings.ts';
import { createLogReader } from '../../../faults/logs/log-reader.ts';
import { presetNames } from '../../../faults/logs/log-event.ts';
import { readRankLog, suspectsOf } from '../../../faults/logs/suspects.ts';
import { eventsOf, linesOfSample, sampleNames } from './samples.ts';

const corpus = sampleNames.flatMap((name) => linesOfSample(name));

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;

function heapAfterCollection(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Lines of real logs, cut, joined and changed. */
const line = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .tuple(
      fc.constantFrom(...corpus),
      fc.constantFrom(...corpus),
      fc.nat(300),
      fc.nat(300),
      fc.string({ maxLength: 5 }),
    )
    .map(([one, other, from, to, inserted]) => one.slice(0, from) + inserted + other.slice(to)),
  fc.constantFrom(...corpus).map((one) => one.replace(/\d+/g, (digits) => `${digits}${digits}${digits}`)),
  fc.constantFrom(...corpus).map((one) => one.replace(/\d+/g, '-1')),
);

describe('hostile lines', () => {
  it('are never an error, and give only whole numbers and names of known forms', () => {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 30 }),
        fc.constantFrom('auto' as const, ...presetNames),
        (lines, preset) => {
          for (const event of eventsOf(lines, { preset }).events)
            for (const [name, value] of Object.entries(event)) {
              if (name === 'stepMs') expect(value).toBeGreaterThan(0);
              else if (typeof value === 'number') expect(Number.isSafeInteger(value)).toBe(true);
              else expect(value).toMatch(/^[\w.:() -]{1,253}$|^\S{1,253}$/);
            }
          suspectsOf([
            readRankLog({ pod: 'a' }, lines, { cut: true }),
            readRankLog({ pod: 'b' }, lines, { cut: false }),
          ]);
          logFindings(lines.join('\n'));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('with a number beyond all bounds give no step', () => {
    const huge = '9'.repeat(12);
    expect(eventsOf([`{ Epoch:[${huge.slice(3)}/ ${huge.slice(3)}], step:[ 1/ ${huge}], loss: 1.0`]).events).toEqual(
      [],
    );
    expect(eventsOf([`completed step: ${'9'.repeat(40)}, seconds: 1.0, loss`]).events).toEqual([]);
  });
});

describe('a million lines', () => {
  it('cost a reader no memory that grows with them', () => {
    const reader = createLogReader({ preset: 'megatron' });
    const linesAt = (count: number): number => {
      const step = `iteration ${count}/ 1000000 | consumed samples: 1 | elapsed time per iteration (ms): 1.0`;
      const other = count % 10 === 0 ? reader.take(corpus[(count / 10) % corpus.length] ?? '') : [];
      return reader.take(step).length + other.length;
    };
    for (let count = 1; count <= 1000; count += 1) linesAt(count);
    const before = heapAfterCollection();
    let events = 0;
    for (let count = 1001; count <= 501_000; count += 1) events += linesAt(count);
    expect(events).toBeGreaterThanOrEqual(500_000);
    // One number kept of each line would be 8 MiB.
    expect(heapAfterCollection() - before).toBeLessThan(4 * 2 ** 20);
  }, 120_000);

  it('of the same error are one finding', () => {
    const ecc = 'RuntimeError: CUDA error: uncorrectable ECC error encountered\n';
    const { faults } = logFindings(ecc.repeat(1_000_000));
    expect(faults).toEqual([
      expect.objectContaining({ code: 'log/cuda-ecc', because: expect.stringContaining('1000000 lines') }),
    ]);
  }, 120_000);
});
