import { lstat, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadPosition, savePosition } from '../../agent/kernel-log/position-file.ts';
import { loadAnswered } from '../../agent/preflight/answered.ts';
import { loadBegun } from '../../agent/preflight/begun.ts';
import { appendJournal, readJournal, replaceJournal } from '../../agent/spool/journal.ts';

const file = { key: 'train/llm-0.json', namespace: 'train', workload: 'llm', rank: 0, version: '1/1/1', writtenMs: 0 };
const position = { bootId: 'b', next: 1 };

let directory = '';
let victim = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-own-'));
  victim = join(directory, 'victim');
  await writeFile(victim, 'precious');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const link = (name: string): Promise<void> => symlink(victim, join(directory, name));

async function answer(): Promise<void> {
  const answered = await loadAnswered(directory);
  answered.add(file);
  await answered.save();
}
async function note(): Promise<void> {
  const begun = await loadBegun(directory, (error) => {
    throw error;
  });
  await begun.during(file, async () => undefined);
}

const writers: readonly (readonly [string, () => Promise<void>])[] = [
  ['spool.jsonl', () => replaceJournal(directory, 'new')],
  ['kernel-log.json', () => savePosition(directory, position)],
  ['preflight.json', answer],
  ['preflight-begun.json', note],
];

describe("the agent's own files", () => {
  it.each(writers)('replaces a link in the place of %s, or of what is to become it, and leaves alone what the link leads to', async (name, write) => {
    await link(name);
    await link(`${name}.new`);
    await write();
    expect(await readFile(victim, 'utf8')).toBe('precious');
    expect((await lstat(join(directory, name))).isFile()).toBe(true);
  });

  it.each(writers)('are written for the agent alone: %s', async (name, write) => {
    await write();
    expect((await lstat(join(directory, name))).mode & 0o077).toBe(0);
  });

  it('appends nothing to what a link leads to', async () => {
    await link('spool.jsonl');
    await expect(appendJournal(directory, 'more')).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(victim, 'utf8')).toBe('precious');
  });

  it('reads nothing through a link', async () => {
    await writeFile(victim, JSON.stringify({ ...position, [file.key]: { version: file.version, ends: 9 } }));
    for (const name of ['spool.jsonl', 'kernel-log.json', 'preflight.json', 'preflight-begun.json']) await link(name);
    await expect(readJournal(directory)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await loadPosition(directory)).toBe('unusable');
    expect((await loadAnswered(directory)).has(file)).toBe(false);
    expect((await loadBegun(directory, () => undefined)).endedUs(file)).toBe(false);
  });
});
