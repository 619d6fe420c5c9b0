import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryEvidence, incidentDirectory } from '../../../activities/evidence/store.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-evidence-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const now = Date.parse('2026-11-21T12:00:00Z');
const storeOf = (keepMs = 3_600_000) =>
  directoryEvidence({ directory, keepMs, most: 2 ** 30, share: 100, now: () => now });
const incidentAt = (time: string) => `recovery/train/llm/0b1c/2026-11-${time}Z`;
const goOn = new AbortController().signal;

/** A directory as an earlier capture left it. */
async function old(name: string, at: string): Promise<void> {
  await mkdir(join(directory, name, 'attempt-1'), { recursive: true });
  await writeFile(join(directory, name, 'attempt-1', 'a.log'), 'x');
  await utimes(join(directory, name), new Date(at), new Date(at));
}

describe('the evidence store', () => {
  it('shows nothing of an attempt before it is whole', async () => {
    const draft = await storeOf().open(incidentAt('21T07:00:00.000'), 2);
    await draft.write('a.log', 'x');
    const home = join(directory, 'recovery_train_llm_0b1c_2026-11-21T070000.000Z');
    expect((await readdir(home)).filter((name) => !name.startsWith('.'))).toEqual([]);
    const { address } = await draft.close([{ file: 'a.log', what: 'log', bytes: 1 }]);
    expect(address).toBe(join(home, 'attempt-2'));
    expect(await readdir(home)).toEqual(['attempt-2']);
    expect(JSON.parse(await readFile(join(address, 'index.json'), 'utf8'))).toEqual([
      { file: 'a.log', what: 'log', bytes: 1 },
    ]);
  });

  it('has a digest that sha256sum can repeat, whatever was written first', async () => {
    const draft = await storeOf().open(incidentAt('21T07:00:00.000'), 1);
    for (const file of ['b.log', 'a.log']) await draft.write(file, `${file}\n`);
    const sum = (text: string) => createHash('sha256').update(text).digest('hex');
    const { digest } = await draft.close([]);
    expect(digest).toBe(sum(`${sum('a.log\n')}  a.log\n${sum('b.log\n')}  b.log\n`));
  });

  it.each(['../a.log', 'a/b.log', '..', '', 'index.json', '.hidden', 'x'.repeat(300)])(
    'does not write a file called "%s"',
    async (file) => {
      const draft = await storeOf().open(incidentAt('21T07:00:00.000'), 1);
      await expect(draft.write(file, 'x')).rejects.toMatchObject({ code: 'records.unwritable' });
    },
  );

  it('does not leave its directory, whatever an incident is called', async () => {
    await expect(storeOf().open('..', 1)).rejects.toMatchObject({ code: 'records.unwritable' });
    expect(incidentDirectory('recovery/../../etc')).toBe('recovery_.._.._etc');
  });
});

describe('what is too old', () => {
  it('goes, oldest first and a few at a time', async () => {
    const times = Array.from({ length: 8 }, (_, hour) => `20T0${hour}:00:00.000`);
    for (const time of times) await old(incidentDirectory(incidentAt(time)), '2026-11-20T08:00:00Z');
    expect(await storeOf().sweep(incidentAt('21T12:00:00.000'), goOn)).toBe(5);
    expect((await readdir(directory)).toSorted()).toEqual(
      times.slice(5).map((time) => incidentDirectory(incidentAt(time))),
    );
    expect(await storeOf().sweep(incidentAt('21T12:00:00.000'), goOn)).toBe(3);
  });

  it.each([
    [
      'is being written',
      incidentDirectory(incidentAt('20T07:00:00.000')),
      '2026-11-20T08:00:00Z',
      incidentAt('20T07:00:00.000'),
    ],
    [
      'was added to since',
      incidentDirectory(incidentAt('20T07:00:00.000')),
      '2026-11-21T11:59:00Z',
      incidentAt('21T12:00:00.000'),
    ],
    [
      'is young',
      incidentDirectory(incidentAt('21T11:30:00.000')),
      '2026-11-21T11:30:00Z',
      incidentAt('21T12:00:00.000'),
    ],
    ['is not ours', 'somebody-else_2026-11-20T070000.000Z', '2026-11-20T08:00:00Z', incidentAt('21T12:00:00.000')],
  ])('stays when it %s', async (_, name, at, keep) => {
    await old(name, at);
    expect(await storeOf().sweep(keep, goOn)).toBe(0);
    expect(await readdir(directory)).toEqual([name]);
  });

  it('stays when there is no time left', async () => {
    await old(incidentDirectory(incidentAt('20T07:00:00.000')), '2026-11-20T08:00:00Z');
    expect(await storeOf().sweep(incidentAt('21T12:00:00.000'), AbortSignal.abort())).toBe(0);
  });
});

describe('what is too much', () => {
  const most = 1000;
  const storeUpTo = (share: number) =>
    directoryEvidence({ directory, keepMs: 86_400_000, most, share, now: () => now });
  const incidentOf = (namespace: string, hour: number) =>
    `recovery/${namespace}/llm/0b1c/2026-11-21T0${hour}:00:00.000Z`;
  async function evidence(
    namespace: string,
    hour: number,
    bytes: number,
    changedAt = '2026-11-21T10:00:00Z',
  ): Promise<string> {
    const name = incidentDirectory(incidentOf(namespace, hour));
    await mkdir(join(directory, name, 'attempt-1'), { recursive: true });
    await writeFile(join(directory, name, 'attempt-1', 'a.log'), 'x'.repeat(bytes));
    await utimes(join(directory, name), new Date(changedAt), new Date(changedAt));
    return name;
  }
  const left = async (): Promise<string[]> => (await readdir(directory)).toSorted();

  it('goes, the oldest first, until the rest is within the limit', async () => {
    await evidence('a', 1, 400);
    const kept = [await evidence('b', 2, 400), await evidence('c', 3, 400), await evidence('d', 4, 100)];
    expect(await storeUpTo(100).sweep(incidentOf('d', 4), goOn)).toBe(1);
    expect(await left()).toEqual(kept.toSorted());
  });

  it('of one namespace goes, and what others keep stays though it is older', async () => {
    const kept = [await evidence('quiet', 1, 200)];
    await evidence('loud', 2, 200);
    await evidence('loud', 3, 200);
    kept.push(await evidence('loud', 4, 200));
    expect(await storeUpTo(25).sweep(incidentOf('loud', 4), goOn)).toBe(2);
    expect(await left()).toEqual(kept.toSorted());
  });

  it('stays while it may still be written, and when no time is left', async () => {
    const busy = await evidence('a', 1, 2000, '2026-11-21T11:59:30Z');
    expect(await storeUpTo(100).sweep(incidentOf('b', 2), goOn)).toBe(0);
    const old = await evidence('a', 3, 2000);
    expect(await storeUpTo(100).sweep(incidentOf('b', 2), AbortSignal.abort())).toBe(0);
    expect(await left()).toEqual([busy, old].toSorted());
  });

  it('is measured again when an incident has grown', async () => {
    const name = await evidence('a', 1, 400);
    const store = storeUpTo(100);
    expect(await store.sweep(incidentOf('b', 2), goOn)).toBe(0);
    await mkdir(join(directory, name, 'attempt-2'));
    await writeFile(join(directory, name, 'attempt-2', 'a.log'), 'x'.repeat(800));
    await utimes(join(directory, name), new Date('2026-11-21T10:05:00Z'), new Date('2026-11-21T10:05:00Z'));
    expect(await store.sweep(incidentOf('b', 2), goOn)).toBe(1);
  });
});
