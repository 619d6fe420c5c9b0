import { appendFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ContainerLog, openContainerLog } from '../../../agent/logs/container-log.ts';

const directory = '/var/log/pods/train_llm-0_uid/pytorch';
const plenty = 64 * 1024 * 1024;

let root: string;
let log: ContainerLog;
const path = (name: string): string => join(root, directory, name);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kcover-logs-'));
  await mkdir(path(''), { recursive: true });
  log = openContainerLog(root, directory, Buffer.alloc(16 * 1024));
});
afterEach(async () => {
  await log.close();
  await rm(root, { recursive: true, force: true });
});

const linesOf = async (): Promise<readonly string[]> => (await log.look(plenty)).lines;

/** In as many looks: an old file is read once more after its end. */
async function linesOfLooks(count: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (let look = 0; look < count; look++) found.push(...(await linesOf()));
  return found;
}

describe('the log of a container', () => {
  it('is read from shortly before its end, and from then on every line once', async () => {
    const old = Array.from({ length: 10_000 }, (_, at) => `old line ${at}`);
    await writeFile(path('0.log'), `${old.join('\n')}\n`);
    const first = await linesOf();
    expect(first.length).toBeGreaterThan(100);
    expect(old.slice(-first.length)).toEqual(first);
    expect(Buffer.byteLength(first.join('\n'))).toBeLessThanOrEqual(64 * 1024);
    await appendFile(path('0.log'), 'one\ntwo\n');
    expect(await linesOf()).toEqual(['one', 'two']);
    expect(await linesOf()).toEqual([]);
  });

  it('has a line only when it is complete, also where the cut is within a character', async () => {
    const bytes = Buffer.from('Schritt fünf\n');
    await writeFile(path('0.log'), bytes.subarray(0, 9));
    expect(await linesOf()).toEqual([]);
    await appendFile(path('0.log'), bytes.subarray(9));
    expect(await linesOf()).toEqual(['Schritt fünf']);
  });

  it('loses no line when it is rotated', async () => {
    await writeFile(path('0.log'), 'one\n');
    expect(await linesOf()).toEqual(['one']);
    await appendFile(path('0.log'), 'two\n');
    await rename(path('0.log'), path('0.log.20261122-220000'));
    await appendFile(path('0.log.20261122-220000'), 'three\n');
    expect(await linesOf()).toEqual(['two', 'three']);
    await writeFile(path('0.log'), 'four\n');
    expect(await linesOfLooks(3)).toEqual(['four']);
  });

  it('loses no line that the runtime writes to the old file when it has created the new one, also at a second rotation', async () => {
    await writeFile(path('0.log'), 'one\n');
    await log.look(plenty);
    await rename(path('0.log'), path('0.log.20261122-220000'));
    await writeFile(path('0.log'), 'three\n');
    expect(await linesOf()).toEqual([]);
    await appendFile(path('0.log.20261122-220000'), 'two\n');
    await rename(path('0.log'), path('0.log.20261122-220010'));
    await writeFile(path('0.log'), 'four\n');
    expect(await linesOfLooks(5)).toEqual(['two', 'three', 'four']);
  });

  it('keeps the lines of a look after which the next file cannot be opened, and says so in the next look', async () => {
    await writeFile(path('0.log'), 'one\n');
    await log.look(plenty);
    await appendFile(path('0.log'), 'two\n');
    await rename(path('0.log'), path('0.log.20261122-220000'));
    await symlink(path('0.log.20261122-220000'), path('0.log'));
    expect(await linesOf()).toEqual(['two']);
    await expect(log.look(plenty)).rejects.toMatchObject({ code: 'refused' });
    await rm(path('0.log'));
    await writeFile(path('0.log'), 'three\n');
    expect(await linesOfLooks(3)).toEqual(['three']);
  });

  it('goes on with the next container, and says which one a line is of', async () => {
    await writeFile(path('0.log'), 'one\n');
    await log.look(plenty);
    await appendFile(path('0.log'), 'last\n');
    await writeFile(path('1.log'), 'first\n');
    expect(await log.look(plenty)).toMatchObject({ run: 0, lines: ['last'] });
    expect(await log.look(plenty)).toMatchObject({ run: 0, lines: [] });
    expect(await log.look(plenty)).toMatchObject({ run: 1, lines: ['first'] });
  });

  it('begins with the newest of several containers', async () => {
    for (const run of [2, 10, 9]) await writeFile(path(`${run}.log`), `of ${run}\n`);
    expect(await log.look(plenty)).toEqual({ run: 10, lines: ['of 10'], skipped: 0 });
  });

  it('reads no more than it is told to at once, and the rest later', async () => {
    const all = Array.from({ length: 5000 }, (_, at) => `line ${at} ${'x'.repeat(80)}`);
    await writeFile(path('0.log'), '');
    await log.look(plenty);
    await writeFile(path('0.log'), `${all.join('\n')}\n`);
    const found: string[] = [];
    let looks = 0;
    for (; found.length < all.length && looks < 100; looks++) found.push(...(await log.look(32 * 1024)).lines);
    expect(found).toEqual(all);
    expect(looks).toBeGreaterThan(10);
  });

  it('skips what a flood leaves behind, and says how much', async () => {
    await writeFile(path('0.log'), '');
    await log.look(plenty);
    const line = `${'y'.repeat(1023)}\n`;
    await writeFile(path('0.log'), `${line.repeat(12 * 1024)}newest\n`);
    const { lines, skipped } = await log.look(plenty);
    expect(lines.at(-1)).toBe('newest');
    expect(skipped).toBeGreaterThan(11 * 1024 * 1024);
    expect(skipped + lines.length * 1024).toBeLessThanOrEqual(13 * 1024 * 1024);
  });

  it('leaves out a line that never ends, and reads on behind it', async () => {
    await writeFile(path('0.log'), 'before\n');
    await log.look(plenty);
    await appendFile(path('0.log'), 'z'.repeat(200_000));
    expect(await linesOf()).toEqual([]);
    await appendFile(path('0.log'), `${'z'.repeat(200_000)}\nafter\n`);
    expect(await linesOf()).toEqual(['after']);
  });

  it('is read to its end when its pod is deleted, and is then not there', async () => {
    await writeFile(path('0.log'), 'one\n');
    await log.look(plenty);
    await appendFile(path('0.log'), 'last words\n');
    await rm(path(''), { recursive: true });
    expect(await linesOf()).toEqual(['last words']);
    await log.close();
    await expect(log.look(plenty)).rejects.toMatchObject({ code: 'not-found' });
  });

  it('is not there before its container has started', async () => {
    await expect(log.look(plenty)).rejects.toMatchObject({ code: 'not-found' });
    await writeFile(path('0.log'), 'one\n');
    expect(await linesOf()).toEqual(['one']);
  });

  it.each(['0.log.gz', '01.log', '-1.log', '0.log.20261122-220000', 'x.log', '1e3.log'])(
    'is not a file with the name %s',
    async (name) => {
      await writeFile(path(name), 'hidden\n');
      await expect(log.look(plenty)).rejects.toMatchObject({ code: 'not-found' });
    },
  );

  it('is not read through a link, whether to the file or to its directory', async () => {
    await writeFile(join(root, 'secret'), 'secret\n');
    await symlink(join(root, 'secret'), path('0.log'));
    await expect(log.look(plenty)).rejects.toMatchObject({ code: 'refused' });
    const linked = openContainerLog(root, '/var/log/pods/linked/pytorch', Buffer.alloc(1024));
    await mkdir(join(root, 'other', 'pytorch'), { recursive: true });
    await writeFile(join(root, 'other', 'pytorch', '0.log'), 'secret\n');
    await symlink(join(root, 'other'), join(root, 'var/log/pods/linked'));
    await expect(linked.look(plenty)).rejects.toMatchObject({ code: 'refused' });
  });
});
