import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { type Expression, expressions, literals } from './expressions.ts';

interface CheckedExpression {
  readonly status: string;
  readonly complexity?: string;
}

const program = fileURLToPath(new URL('../support/judge-expressions.mjs', import.meta.url));

const judge = (some: readonly Pick<Expression, 'source' | 'flags'>[]): readonly CheckedExpression[] =>
  JSON.parse(
    execFileSync(process.execPath, [program], { input: JSON.stringify(some), encoding: 'utf8' }),
  ) as CheckedExpression[];

const slow: readonly (readonly [what: string, source: string])[] = [
  [
    'a number with two runs of digits side by side',
    String.raw`^[+-]?(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:e[+-]?\d(?:_?\d)*)?$`,
  ],
  ['white space at the end', String.raw`\s+$`],
  ['a run of runs', '^(a+)+$'],
  ['a run behind which something is looked for', String.raw`(?<!x)\d+(?=y)`],
];

const all = await expressions();
const judged = judge([...slow.map(([, source]) => ({ source, flags: 'i' })), ...all]);

describe('an expression that reads foreign text', () => {
  it('is found whether it is a literal, is put together, or is made by a library', () => {
    expect(literals('x.ts', 'const a: RegExp = /a+b/gi; // /not/\n')).toEqual([
      { file: 'x.ts', source: 'a+b', flags: 'gi' },
    ]);
    const files = new Set(all.map(({ file }) => file));
    expect([...files]).toEqual(
      expect.arrayContaining([
        'faults/kernel/line.ts',
        'faults/preflight/number.ts',
        'agent/files/rank-files.ts',
        'contract/progress/progress.schema.ts',
      ]),
    );
    expect(all.filter(({ source }) => source.includes('NVRM')).length).toBeGreaterThanOrEqual(2);
    expect(all.length).toBeGreaterThan(40);
  });

  it.each(slow.map(([what], index) => [what, judged[index]] as const))('would be refused as %s', (_, answer) => {
    expect(answer).toMatchObject({ status: 'vulnerable' });
  });

  it.each(
    all.map(({ file, source, flags }, index) => [file, `/${source}/${flags}`, judged[slow.length + index]] as const),
  )('takes time in proportion to the text: %s %s', (_file, _shown, answer) => {
    expect(answer).toMatchObject({ status: 'safe', complexity: expect.stringMatching(/^(?:safe|linear)$/) });
  });
});
