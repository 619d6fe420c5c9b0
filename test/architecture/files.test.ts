import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { codeOf, folderOf, sources, textOf } from './sources.ts';

/** Lines of code, without comments and blank lines. */
const sizeOf = (file: string): number =>
  codeOf(textOf(file))
    .split('\n')
    .filter((line) => line.trim() !== '').length;

/** The limit of the file: its own, or the usual one for its kind. */
const mostOf = (file: string): number => longer[file]?.most ?? usualOf(file);
const usualOf = (file: string): number => (folderOf(file) === 'test' ? 400 : 250);

/** Files with a higher limit, and the reason. This list may only shrink. */
const longer: Readonly<Record<string, { readonly most: number; readonly because: string }>> = {};

describe('files', () => {
  it('are named after what they are about', () => {
    const nameless = /^(utils?|helpers?|common|misc|managers?|base|types?|services?|handlers?|shared|lib)$/;
    const words = (file: string) => file.replace(/(\.\w+)+$/, '').split('/');
    expect(words('cli/utils.ts').some((word) => nameless.test(word))).toBe(true);
    expect(sources.filter((file) => words(file).some((word) => nameless.test(word)))).toEqual([]);
  });

  it('have kebab-case names', () => {
    expect(sources.filter((file) => !/^[a-z0-9-]+(\.(server\.)?test|\.schema)?\.ts$/.test(basename(file)))).toEqual([]);
  });

  it('have at most 250 lines of code, 400 in tests', () => {
    expect(sources.length).toBeGreaterThan(100);
    expect(sources.filter((file) => sizeOf(file) > mostOf(file)).map((file) => `${file}: ${sizeOf(file)}`)).toEqual([]);
  });

  it('leave the list of longer ones when they have become shorter', () => {
    expect(Object.keys(longer).filter((file) => !sources.includes(file) || sizeOf(file) <= usualOf(file))).toEqual([]);
  });
});

describe('workflows', () => {
  const clock = /\bDate\.now\(\)|\bnew Date\(\)/;
  // A status is for people, and decides nothing.
  const decides = (line: string) => clock.test(line) && !line.includes('statusOf(');

  it('decide by the time that a replay sees, too', () => {
    expect(decides('const at = Date.now();')).toBe(true);
    const deciding = sources.filter((file) => folderOf(file) === 'workflows' && file !== 'workflows/arrivals.ts');
    expect(deciding.filter((file) => codeOf(textOf(file)).split('\n').some(decides))).toEqual([]);
  });
});

/** This file contains the words that it forbids. */
const self = 'test/architecture/files.test.ts';

describe('tests', () => {
  const imitation = new RegExp(
    [
      'jest\\.mock',
      'mockModule',
      'createMockFromModule',
      '\\bnock\\b',
      'MockAgent',
      'MockActivityEnvironment',
      'TestWorkflowEnvironment',
    ].join('|'),
  );

  it('never imitate Temporal or Kubernetes', () => {
    const tests = sources.filter((file) => folderOf(file) === 'test' && file !== self);
    expect(tests.length).toBeGreaterThan(30);
    expect(imitation.test("jest.mock('@temporalio/client')")).toBe(true);
    expect(tests.filter((file) => imitation.test(textOf(file)))).toEqual([]);
  });

  it('say what happens: no name is a single word', () => {
    const named = /\b(?:it|test)(?:\.each\([^)]*\))?\(\s*['"`]([^'"`]+)['"`]/g;
    const names = sources
      .filter((file) => file.endsWith('.test.ts') && file !== self)
      .flatMap((file) => [...textOf(file).matchAll(named)].map(([, name]) => ({ file, name: name ?? '' })));
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter(({ name }) => !name.includes(' ') && !name.includes('%') && !name.includes('$'))).toEqual([]);
  });

  it('are neither switched off nor alone', () => {
    const off = /\b(?:it|test|describe)\.(?:skip|only|todo)\b|\bx(?:it|describe)\(/;
    expect(sources.filter((file) => file.startsWith('test/') && file !== self && off.test(textOf(file)))).toEqual([]);
  });
});
