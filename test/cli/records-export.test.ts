import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { directoryRecords } from '../../activities/index.ts';
import { exportRecords } from '../../cli/incidents/export.ts';
import { kcover } from './kcover.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-export-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const hour = 3_600_000;
const now = Date.now();
const hoursAgo = (hours: number) => new Date(now - hours * hour).toISOString();

async function recovery(began: number, took = 0, more: object = {}): Promise<string> {
  const incident = `recovery/train/llm/0b1c/${hoursAgo(began)}`;
  const endedAt = hoursAgo(began - took);
  await directoryRecords(directory).put(incident, { schema: 1, incident, job: {}, phases: [], endedAt, ...more });
  return incident;
}

async function quarantine(node: string, began: number, took?: number): Promise<string> {
  const incident = `node/${node}/${hoursAgo(began)}`;
  const ended = took === undefined ? {} : { ended: { at: hoursAgo(began - took), outcome: 'released', because: '' } };
  await directoryRecords(directory).put(incident, { schema: 1, incident, quarantinedAt: hoursAgo(began), ...ended });
  return incident;
}

const incidentsIn = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { incident: unknown }).incident);

describe('kcover records export', () => {
  it('prints each record as one line of JSON, the oldest incident first, whatever it is about', async () => {
    const expected = [
      await quarantine('gpu-9', 9),
      await recovery(8),
      await quarantine('gpu-1', 7, 1),
      await recovery(6),
    ];
    const { code, stdout, stderr } = await kcover(['records', 'export', '--records', directory]);
    expect(incidentsIn(stdout)).toEqual(expected);
    expect([code, stderr]).toEqual([0, '']);
  });

  it('leaves out what ended before --since, and nothing that is still open', async () => {
    await recovery(30);
    await quarantine('gpu-1', 40, 5);
    const expected = [await quarantine('gpu-2', 90), await quarantine('gpu-3', 80, 79), await recovery(26, 4)];
    const { stdout } = await kcover(['records', 'export', '--records', directory, '--since', '24h']);
    expect(incidentsIn(stdout)).toEqual(expected);
  });

  it('names what it cannot read, exports the others, and ends with exit code 1', async () => {
    const expected = [await recovery(5), await recovery(3)];
    const outside = await mkdtemp(join(tmpdir(), 'kcover-outside-'));
    await writeFile(join(outside, 'record'), JSON.stringify({ schema: 1, incident: 'x', job: {}, phases: [] }));
    await symlink(join(outside, 'record'), join(directory, 'a-link.json'));
    await mkdir(join(directory, 'a-directory.json'));
    await writeFile(join(directory, 'half.json'), '{"schema": 1');
    await writeFile(join(directory, 'other.json'), 'null');
    await writeFile(join(directory, 'large.json'), '');
    await truncate(join(directory, 'large.json'), 2 ** 31);
    await writeFile(join(directory, '\u001B[2J\n\u202Egood.json'), 'x');
    await writeFile(join(directory, 'recovery_x.json.1.abc.part'), 'x');
    await promisify(execFile)('mkfifo', [join(directory, 'pipe.json')]);
    const { code, stdout, stderr } = await kcover(['records', 'export', '--records', directory]);
    expect(incidentsIn(stdout)).toEqual(expected);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n').toSorted()).toEqual([
      '2 records exported',
      'not exported: a-directory.json: it is not a file',
      'not exported: a-link.json: it is a link',
      'not exported: good.json: it is not JSON',
      'not exported: half.json: it is not JSON',
      'not exported: large.json: it has 2147483648 bytes, more than any record',
      'not exported: other.json: it is not a record of an incident',
      'not exported: pipe.json: it is not a file',
    ]);
    await rm(outside, { recursive: true });
  });

  it('writes a file that is complete or not there', async () => {
    const expected = [await recovery(2)];
    const to = join(directory, 'out.jsonl');
    const done = await kcover(['records', 'export', '--records', directory, '--to', to]);
    expect([done.code, done.stdout, done.stderr]).toEqual([0, '', '1 record exported\n']);
    expect(incidentsIn(await readFile(to, 'utf8'))).toEqual(expected);

    const missing = await kcover([
      'records',
      'export',
      '--records',
      join(directory, 'none'),
      '--to',
      join(directory, 'b'),
    ]);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('file.unreadable') });
    const unwritable = await kcover(['records', 'export', '--records', directory, '--to', join(directory, 'no', 'x')]);
    expect(unwritable).toMatchObject({ code: 1, stderr: expect.stringContaining('the export cannot be written') });
    expect((await readdir(directory)).filter((name) => !name.endsWith('.json'))).toEqual(['out.jsonl']);
  });

  it('prints no invisible characters, and the same values', async () => {
    await recovery(2, 0, { because: 'a\u202Eb\u0085c' });
    const { stdout } = await kcover(['records', 'export', '--records', directory]);
    expect(stdout).toContain(String.raw`a\u202eb\u0085c`);
    expect(JSON.parse(stdout)).toMatchObject({ because: 'a\u202Eb\u0085c' });
  });

  it('reads the next record only when the one before is written', async () => {
    await recovery(3);
    const second = await recovery(2);
    const lines: string[] = [];
    await exportRecords(directory, 0, async (line) => {
      if (lines.length === 0)
        await directoryRecords(directory).put(second, {
          schema: 1,
          incident: second,
          job: {},
          phases: [],
          outcome: 'late',
        });
      lines.push(line);
    });
    expect(lines.map((line) => (JSON.parse(line) as { outcome?: string }).outcome)).toEqual([undefined, 'late']);
  });

  it('counts what it cannot name', async () => {
    for (let each = 0; each < 103; each++) await writeFile(join(directory, `${each}.json`), '{');
    const { unread } = await exportRecords(directory, 0, () => Promise.resolve());
    expect(unread).toHaveLength(101);
    expect(unread.at(-1)).toEqual({ file: '3 more', because: 'also unreadable' });
  });
});
