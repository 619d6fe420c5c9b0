import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Command, createCommand } from '../../agent/command/command.ts';
import { listScripts } from '../../agent/command/script-files.ts';
import { FakeTool, type Play } from '../support/fake-tool.ts';
import { until } from './until.ts';

let root = '';
let command: Command | undefined;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kcover-tool-'));
});

afterEach(async () => {
  command?.stop();
  command = undefined;
  await rm(root, { recursive: true, force: true });
});

async function tool(play: Play, more: { deadlineMs?: number; outputBytes?: number } = {}) {
  const fake = await new FakeTool(root).create(play);
  command = createCommand({ path: fake.path, ...more });
  return { fake, command };
}

/** Whether a process of the group still runs; one that has ended and was not waited for does not. */
const groupRuns = (group: number): boolean =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        const [state, , member] = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ');
        return Number(member) === group && !/[ZX]/.test(state ?? '');
      } catch {
        return false; // it has ended
      }
    });

describe('a command', () => {
  it('sees what the program writes to stdout, apart from what it writes to stderr', async () => {
    await writeFile(join(root, 'both'), '#!/bin/sh\necho warning >&2\nprintf fine\n', { mode: 0o755 });
    const answer = await createCommand({ path: join(root, 'both') }).run([]);
    expect(answer).toEqual({ kind: 'sees', output: 'fine', errors: 'warning\n' });
  });

  it('gets its arguments, and no environment of the agent', async () => {
    await writeFile(join(root, 'show'), '#!/bin/sh\necho "$1"\nenv\n', { mode: 0o755 });
    process.env['KCOVER_SECRET_FOR_TEST'] = 'secret';
    const answer = await createCommand({ path: join(root, 'show') }).run(['a b; c']);
    delete process.env['KCOVER_SECRET_FOR_TEST'];
    expect(answer).toMatchObject({ kind: 'sees', output: expect.stringMatching(/^a b; c\n/) });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });

  it('is bad with another exit code, and keeps its output', async () => {
    const { command: bad } = await tool({ output: 'No devices were found\n', exitCode: 6 });
    expect(await bad.run([])).toEqual({ kind: 'bad', exitCode: 6, output: 'No devices were found\n', errors: '' });
  });

  it.each<[string, Play, { deadlineMs?: number; outputBytes?: number }]>([
    ['did not end within 200ms', { output: 'half', ending: 'hangs' }, { deadlineMs: 200 }],
    ['wrote more than 1000 bytes', { ending: 'floods' }, { outputBytes: 1000 }],
    ['was ended by SIGKILL', { output: 'half', ending: 'dies' }, {}],
  ])('is unobservable where the program %s, and leaves no process', async (because, play, more) => {
    const { command: unobservable, fake } = await tool(play, more);
    expect(await unobservable.run([])).toMatchObject({
      kind: 'unobservable',
      because: expect.stringContaining(because),
    });
    await until(() => fake.calls().every(({ pid }) => !groupRuns(pid)));
  });

  it('is unobservable where there is no such program, or it is none', async () => {
    const missing = { kind: 'unobservable', because: expect.stringContaining('cannot be started') };
    expect(await createCommand({ path: join(root, 'missing') }).run([])).toMatchObject(missing);
    await writeFile(join(root, 'text'), 'text');
    const none = createCommand({ path: join(root, 'text') });
    expect(await none.run([])).toMatchObject(missing);
    expect(await none.run([])).toMatchObject(missing);
  });

  it('answers where the program leaves a process that keeps its output open, and ends that process', async () => {
    const { command: answers, fake } = await tool({ output: 'fine', ending: 'leaves a process' });
    expect(await answers.run([])).toMatchObject({ kind: 'sees', output: 'fine' });
    await until(() => fake.calls().every(({ pid }) => !groupRuns(pid)));
  });

  it('is not started a second time while its process has not ended', async () => {
    const { command: once, fake } = await tool({ ending: 'hangs' }, { deadlineMs: 60_000 });
    const first = once.run([]);
    await until(() => fake.calls().some(({ pid }) => groupRuns(pid)));
    expect(await once.run([])).toMatchObject({
      kind: 'unobservable',
      because: expect.stringContaining('no second one'),
    });
    once.stop();
    expect(await first).toMatchObject({ kind: 'unobservable', because: expect.stringContaining('SIGKILL') });
    expect(fake.calls()).toHaveLength(1);
    await fake.plays({ output: 'again' });
    expect(await once.run([])).toMatchObject({ kind: 'sees', output: 'again' });
  });
});

describe("a site's directory of checks", () => {
  it('runs executable files that only their owner may change', async () => {
    await writeFile(join(root, 'b-check'), '', { mode: 0o755 });
    await writeFile(join(root, 'a-check'), '', { mode: 0o500 });
    await writeFile(join(root, '.hidden'), '', { mode: 0o755 });
    expect(await listScripts(root, (name) => !name.startsWith('.'))).toEqual({ names: ['a-check', 'b-check'] });
    await writeFile(join(root, 'notes.txt'), '', { mode: 0o644 });
    expect(await listScripts(root, (name) => !name.startsWith('.'))).toMatchObject({
      names: ['a-check', 'b-check'],
      refused: 'notes.txt: it is not executable',
    });
  });

  it('does not run a file that others may change, and more than 32', async () => {
    await writeFile(join(root, 'open'), '');
    await chmod(join(root, 'open'), 0o777);
    expect(await listScripts(root, () => true)).toEqual({ names: [], refused: expect.stringContaining('others') });
    await Promise.all(Array.from({ length: 40 }, (_, at) => writeFile(join(root, `check-${at}`), '', { mode: 0o755 })));
    const { names, refused } = await listScripts(root, (name) => name.startsWith('check'));
    expect([names.length, refused]).toEqual([32, expect.stringContaining('more than 32')]);
  });
});
