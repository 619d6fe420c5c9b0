import { readFileSync, readdirSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

interface Tier {
  readonly displayName: string;
  readonly testMatch: readonly string[];
  readonly testPathIgnorePatterns?: readonly string[];
}

const directory = fileURLToPath(new URL('..', import.meta.url));
const tiers = readdirSync(directory)
  .filter((name) => /^jest\..*\.json$/.test(name))
  .map((name) => JSON.parse(readFileSync(`${directory}/${name}`, 'utf8')) as Tier);
const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`);

const tiersOf = (file: string): string[] =>
  tiers
    .filter(
      ({ testMatch, testPathIgnorePatterns = [] }) =>
        testMatch.some((glob) => matchesGlob(`/${file}`, glob.replace('<rootDir>', ''))) &&
        !testPathIgnorePatterns.some((pattern) => new RegExp(pattern.replace('<rootDir>', '^')).test(`/${file}`)),
    )
    .map(({ displayName }) => displayName);

describe('test files', () => {
  it('belong to one tier each, so that none is forgotten and none is run without its servers', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(files.map((file) => [file, ...tiersOf(file)]).filter(({ length }) => length !== 2)).toEqual([]);
  });
});
