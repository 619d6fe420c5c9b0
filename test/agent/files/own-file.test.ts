import { lstat, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadPosition, savePosition } from '../../../agent/kernel-log/position-file.ts';
import { loadAcknowledgedFiles } from '../../../agent/preflight/acknowledged-files.ts';
import { loadUnfinishedReads } from '../../../agent/preflight/unfinished-reads.ts';
import { appendJournal, readJournal, replaceJournal } from '../../../agent/spool/journal.ts';

const file = { key: 'train/llm-0.json', namespace: 'train', workload: 'llm', rank: 0, version: '1/1/1', writtenMs: 0 };
const position = { bootId: 'b', next: 1 };

let directory = '';
let target = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-own-'));
  target = join(directory, 'target');
  await writeFile(target, 'precious');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const link = (name: string): Promise<void> => symlink(target, join(directory, name));

async function answer(): Promise<void> {
  const acknowledged = await loadAcknowledgedFiles(directory);
  acknowledged.add(file);
  await acknowledged.save();
}
async function note(): Promise<void> {
  const unfinished = await loadUnfinishedReads(directory, (error) => {
    throw error;
  });
  await unfinished.during(file, async () => undefined);
}

const writers: readonly (readonly [string, () => Promise<void>])[] = [
  ['spool.jsonl', () => replaceJournal(directory, 'new')],
  ['kernel-log.json', () => savePosition(directory, position)],
  ['preflight.json', answer],
  ['preflight-unfinished.json', note],
];

describe("the agent's own files", () => {
  it.each(writers)(
    'replaces a link in the place of %s, or of what is to become it, and leaves alone what the link leads to',
    async (name, write) => {
      await link(name);
      await link(`${name}.new`);
      await write();
      expect(await readFile(target, 'utf8')).toBe('precious');
      expect((await lstat(join(directory, name))).isFile()).toBe(true);
    },
  );

  it.each(writers)('are written for the agent alone: %s', async (name, write) => {
    await write();
    expect((await lstat(join(directory, name))).mode & 0o077).toBe(0);
  });

  it('appends nothing to what a link leads to', async () => {
    await link('spool.jsonl');
    await expect(appendJournal(directory, 'more')).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(target, 'utf8')).toBe('precious');
  });

  it('reads nothing through a link', async () => {
    await writeFile(target, JSON.stringify({ ...position, [file.key]: { version: file.version, ends: 9 } }));
    for (const name of ['spool.jsonl', 'kernel-log.json', 'preflight.json', 'preflight-unfinished.json'])
      await link(name);
    await expect(readJournal(directory)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await loadPosition(directory)).toBe('unusable');
    expect((await loadAcknowledgedFiles(directory)).has(file)).toBe(false);
    expect((await loadUnfinishedReads(directory, () => undefined)).endedAgent(file)).toBe(false);
  });
});
