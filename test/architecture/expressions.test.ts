import { describe, expect, it } from '@jest/globals';
import { type Diagnostics, checkSync } from 'recheck';
import { type Expression, expressions, literals } from './expressions.ts';

// Its other back ends are programs of the platform, which would not be the same everywhere.
process.env['RECHECK_BACKEND'] = 'pure';

/** No limit is a time: the same everywhere, however busy the machine is. The search where nothing can be proven is a short one. */
const limits = {
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  maxIteration: 3,
  maxInitialGenerationSize: 100,
  maxGenerationSize: 30,
  crossoverSize: 8,
  mutationSize: 16,
} as const;

const judge = ({ source, flags }: Pick<Expression, 'source' | 'flags'>): Diagnostics => checkSync(source, flags, limits);

const all = await expressions();

describe('an expression that reads foreign text', () => {
  it('is found whether it is a literal, is put together, or is made by a library', () => {
    expect(literals('x.ts', 'const a: RegExp = /a+b/gi; // /not/\n')).toEqual([{ file: 'x.ts', source: 'a+b', flags: 'gi' }]);
    const files = new Set(all.map(({ file }) => file));
    expect([...files]).toEqual(
      expect.arrayContaining(['faults/kernel-line.ts', 'faults/preflight-number.ts', 'agent/rank-files.ts', 'contract/progress.schema.ts']),
    );
    expect(all.filter(({ source }) => source.includes('NVRM')).length).toBeGreaterThanOrEqual(2);
    expect(all.length).toBeGreaterThan(40);
  });

  it.each<[what: string, source: string]>([
    ['a number with two runs of digits side by side', String.raw`^[+-]?(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:e[+-]?\d(?:_?\d)*)?$`],
    ['white space at the end', String.raw`\s+$`],
    ['a run of runs', '^(a+)+$'],
    ['a run behind which something is looked for', String.raw`(?<!x)\d+(?=y)`],
  ])('would be refused as %s', (_, source) => {
    expect(judge({ source, flags: 'i' })).toMatchObject({ status: 'vulnerable' });
  });

  it.each(all.map((one) => [one.file, `/${one.source}/${one.flags}`, one] as const))(
    'takes time in proportion to the text: %s %s',
    (_file, _shown, one) => {
      expect(judge(one)).toMatchObject({ status: 'safe', complexity: { type: expect.stringMatching(/^(?:safe|linear)$/) } });
    },
    120_000,
  );
});
