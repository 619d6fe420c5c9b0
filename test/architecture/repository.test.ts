import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { files, textOf } from './sources.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('documents', () => {
  const pages = files.filter((file) => file.endsWith('.md'));
  const link = /\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g;

  it('have links that lead somewhere', () => {
    const broken = pages.flatMap((page) =>
      [...textOf(page).matchAll(link)]
        .map(([, target]) => target ?? '')
        .filter(
          (target) => !/^[a-z]+:/.test(target) && !existsSync(posix.join(root, posix.dirname(page), decodeURI(target))),
        )
        .map((target) => `${page} -> ${target}`),
    );
    expect(pages).toContain('CONTRIBUTING.md');
    expect(broken).toEqual([]);
  });

  it.each([
    'docs/failure-modes.md',
    'docs/failure-modes-of-steps.md',
    'docs/bad-input.md',
    'docs/features.md',
    'docs/security.md',
  ])('name tests that are there: %s', (page) => {
    const named = [...textOf(page).matchAll(/\[([^\]]+)\]\(\.\.\/(test\/[^)]+\.test\.ts)\)/g)]
      .map(([, title = '', file = '']) => ({ title, file }))
      .filter(({ title, file }) => !file.endsWith(`/${title}`));
    // `…` stands for a placeholder of `it.each`.
    const titled = (title: string): RegExp =>
      new RegExp(
        title
          .split('…')
          .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
          .join('.*'),
      );
    expect(named.length).toBeGreaterThan(15);
    expect(titled('is … by us').test('is %s by them')).toBe(false);
    expect(named.filter(({ title, file }) => !titled(title).test(textOf(file)))).toEqual([]);
  });

  it('have one number for each decision', () => {
    const numbers = pages
      .filter((page) => page.startsWith('docs/adr/'))
      .flatMap((page) => /\/(\d+)-[^/]+\.md$/.exec(page)?.[1] ?? []);
    expect(numbers).toEqual([...new Set(numbers)]);
  });
});

describe('what is kept', () => {
  it('names no package registry in the lock file', () => {
    expect(textOf('package-lock.json')).not.toMatch(/"resolved":\s*"https?:/);
  });

  it('names no directory of the machine that it was made on', () => {
    const text = files.filter((file) => !/\.(png|gif|webp|ico|gz|tgz)$/.test(file));
    const place = new RegExp(
      ['work', 'root', 'home/[a-z]+', 'Users'].map((name) => `(?<![\\w.$}*<>-])/${name}/[\\w.]`).join('|'),
    );
    expect(place.test(['cd ', 'work', 'main'].join('/'))).toBe(true);
    expect(text.length).toBeGreaterThan(150);
    expect(text.filter((file) => place.test(textOf(file)))).toEqual([]);
  });
});
