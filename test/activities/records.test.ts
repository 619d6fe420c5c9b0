import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryRecords, recordFile } from '../../activities/records.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-records-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const incident = 'recovery/train/llm/0b1c/2026-11-21T07:09:03.117Z';

describe('the record store', () => {
  it('keeps a document under a name that every file system takes', async () => {
    const path = await directoryRecords(join(directory, 'new')).put(incident, { schema: 1 });
    expect(path).toBe(join(directory, 'new', 'recovery_train_llm_0b1c_2026-11-21T070903.117Z.json'));
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ schema: 1 });
  });

  it('overwrites the same incident and leaves no draft behind', async () => {
    const store = directoryRecords(directory);
    await Promise.all([1, 2, 3, 4].map((attempt) => store.put(incident, { attempt })));
    await store.put(incident, { attempt: 5 });
    expect(await readdir(directory)).toEqual([recordFile(incident)]);
    expect(JSON.parse(await readFile(join(directory, recordFile(incident)), 'utf8'))).toEqual({ attempt: 5 });
  });

  it('says so when it cannot write, so that it is tried again', async () => {
    await writeFile(join(directory, 'file'), '');
    await expect(directoryRecords(join(directory, 'file')).put(incident, {})).rejects.toMatchObject({
      code: 'records.unwritable',
      transient: true,
    });
  });

  it('leaves no draft behind when it cannot finish', async () => {
    await mkdir(join(directory, recordFile(incident)));
    await expect(directoryRecords(directory).put(incident, {})).rejects.toMatchObject({ code: 'records.unwritable' });
    expect(await readdir(directory)).toEqual([recordFile(incident)]);
  });

  it('finds quarantines by the time in their names, and leaves out what is none', async () => {
    const store = directoryRecords(directory);
    const quarantine = (name: string) => store.put(name, { incident: name, systemUuid: 'm', faults: [] });
    await quarantine('node/gpu-3/2026-11-21T07:09:03.117Z');
    await quarantine('node/gpu-3/2026-10-01T07:09:03.117Z');
    await store.put(incident, { schema: 1 });
    await store.put('node/gpu-4/2026-11-21T07:09:03.117Z', { schema: 1 });
    await writeFile(join(directory, 'node_gpu-5_2026-11-21T070903.117Z.json'), '{');
    const found = await store.quarantinesSince(Date.parse('2026-11-01T00:00:00Z'));
    expect(found.map((one) => one.incident)).toEqual(['node/gpu-3/2026-11-21T07:09:03.117Z']);
    expect(await directoryRecords(join(directory, 'none')).quarantinesSince(0)).toEqual([]);
  });

  it('never leaves the directory, whatever an id contains', () => {
    expect(recordFile('../../etc/passwd')).toBe('.._.._etc_passwd.json');
  });
});
