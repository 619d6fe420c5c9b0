import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { compile, programLength, run } from '../../../faults/logs/own/machine.ts';
import { ownLineLength, readOwnPattern } from '../../../faults/logs/own/own-pattern.ts';
import { parsePattern, patternLength } from '../../../faults/logs/own/syntax.ts';
import { eventsOf } from './samples.ts';

function patternOf(source: string, group: 'step' | 'checkpoint' = 'step') {
  const read = readOwnPattern(source, group);
  if (read.kind === 'refused') throw new Error(read.because);
  return read.pattern;
}

describe('a pattern of a user', () => {
  it.each([
    [String.raw`step=(?<step>\d+)`, 'loss=1 step=42 lr=3', '42'],
    [String.raw`^\[trainer\] (?:it|iter) (?<step>[0-9]{1,9})/\d+`, '[trainer] iter 7/100', '7'],
    [String.raw`^\[trainer\] (?:it|iter) (?<step>[0-9]{1,9})/\d+`, ' [trainer] iter 7/100', undefined],
    [String.raw`(?<step>\d+?)0*$`, 'n 1200', '12'],
    [String.raw`(?<step>\d{2,3})`, '1 22 333', '22'],
    [String.raw`a(?<step>\d*)b`, 'ab', ''],
    [String.raw`(x|y)*(?<step>[^a-z]+)z?`, 'xyx12z', '12'],
    [String.raw`\$(?<step>\d)\.`, 'costs $5.', '5'],
  ])('%s finds in "%s" %s', (source, line, value) => {
    expect(patternOf(source).find(line)).toBe(value);
  });

  it.each([
    [String.raw`step=(\d+)`, 'it has no group (?<step>...)'],
    [String.raw`(?<step>\d+)(?=x)`, 'of groups with (? only (?: and named ones, such as (?<step>, are allowed'],
    [String.raw`(?<step>\d+)\1`, String.raw`\1 is not allowed`],
    [String.raw`\bstep (?<step>\d+)`, String.raw`\b is not allowed`],
    ['(?<step>', 'there is a ( without its )'],
    ['(?<step>1))', 'there is a ) without its ( at 10'],
    ['(?<step>[0-9', 'there is a [ without its ]'],
    ['(?<step>[9-0])', 'a range in [ ] has no order'],
    ['*(?<step>1)', 'there is nothing to repeat at 0'],
    ['(?<step>1)++', 'there is nothing to repeat at 11'],
    ['(?<step>1{3,2})', '{3,2} counts down'],
    [String.raw`(?<step>(\d{100}){9})`, 'it is too large; write fewer or smaller {n,m}'],
    ['(?<step>(((((){999}){999}){999}){999}))', 'it repeats too much; write fewer or smaller {n,m}'],
    ['(?<step>1)\\', 'it ends too early'],
    [`(?<step>${'1'.repeat(patternLength)})`, `it is longer than ${patternLength} characters`],
  ])('%s is refused, with the reason: %s', (source, because) => {
    expect(readOwnPattern(source, 'step')).toEqual({ kind: 'refused', because });
  });

  it('is never an error, whatever its text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...String.raw`(?<step>)[^a-z]\d\w*+?{2,3}|.$1x`), maxLength: 60 }),
        fc.string(),
        (source, line) => {
          const read = readOwnPattern(source, 'step');
          if (read.kind === 'pattern') read.pattern.find(line);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('finds what a regular expression finds', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      '1',
      '.',
      '[ab]',
      '[^b]',
      String.raw`\d`,
      'a?',
      'b*',
      '1+',
      'a{1,2}',
      '(?:ab|a)',
      '(?:a|b)*?',
      '(?:a*)*',
    );
    const source = fc.tuple(
      fc.array(piece, { maxLength: 4 }),
      fc.array(piece, { minLength: 1, maxLength: 3 }),
      fc.array(piece, { maxLength: 3 }),
    );
    fc.assert(
      fc.property(
        source,
        fc.string({ unit: fc.constantFrom('a', 'b', '1'), maxLength: 12 }),
        ([before, inside, after], line) => {
          const text = `${before.join('')}(?<step>${inside.join('')})${after.join('')}`;
          expect(patternOf(text).find(line)).toBe(new RegExp(text).exec(line)?.groups?.['step']);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it.each([
    String.raw`(?<step>(a+)+)$`,
    String.raw`(?<step>(a|a)*)b`,
    String.raw`(?<step>.*.*.*.*x)`,
    String.raw`(?<step>(a?){20}a{20})`,
    String.raw`(?<step>\d+)\d+\d+z`,
  ])('%s visits each instruction at most once for each character', (source) => {
    const program = compile(parsePattern(source), 'step');
    for (const length of [500, 1000, ownLineLength])
      expect(run(program, 'a'.repeat(length)).steps).toBeLessThanOrEqual((length + 1) * programLength);
    const [short, long] = [500, 2000].map((length) => run(program, 'a1'.repeat(length / 2)).steps);
    expect((long ?? 0) / (short ?? 1)).toBeLessThan(4.5);
  });

  it('reads only the begin of a long line', () => {
    expect(patternOf(String.raw`step (?<step>\d+)`).find(`${' '.repeat(ownLineLength)}step 7`)).toBeUndefined();
  });

  it('replaces the steps or the checkpoints of the preset, and leaves the rest', () => {
    const lines = [
      'completed step: 3, seconds: 1.5, loss: 9',
      'Saved a checkpoint at step 3.',
      'my step 4',
      'my step 4',
      'wrote 4',
    ];
    const patterns = { step: patternOf(String.raw`my step (?<step>\d+)`) };
    const both = { ...patterns, checkpoint: patternOf(String.raw`wrote (?<checkpoint>\d+)`, 'checkpoint') };
    expect(eventsOf(lines, { preset: 'auto', patterns }).events).toEqual([
      { kind: 'checkpoint', step: 3 },
      { kind: 'step', step: 4 },
    ]);
    expect(eventsOf(lines, { preset: 'auto', patterns: both }).events).toEqual([
      { kind: 'step', step: 4 },
      { kind: 'checkpoint', step: 4 },
    ]);
  });
});
