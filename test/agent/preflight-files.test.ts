import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ReportFiles, reportFiles } from '../../agent/preflight/files.ts';
import type { RankFile } from '../../agent/files/rank-files.ts';
import { preflightLimits } from '../../contract/preflight/preflight.ts';
import { type PreflightNode, preflightNode, rawReport } from './preflight-node.ts';

let node: PreflightNode;
let files: ReportFiles;

beforeEach(async () => {
  node = await preflightNode();
  files = reportFiles(node.hostRoot);
});
afterEach(() => node.remove());

async function only(): Promise<RankFile> {
  const [file, ...more] = (await files.list()).files;
  if (file === undefined || more.length > 0) throw new Error(`${more.length} more files than one`);
  return file;
}
const keys = async () => (await files.list()).files.map(({ key }) => key).toSorted();

describe('the report files of a node', () => {
  it('are none while there is no directory for them', async () => {
    expect(await files.list()).toEqual({ files: [], ignored: 0 });
  });

  it('cannot be read where no directory of the node is mounted', async () => {
    await rm(`${node.hostRoot}/var/lib/kcover`, { recursive: true });
    const because = `${node.hostRoot}/var/lib/kcover is not there: mount /var/lib/kcover of the node at ${node.hostRoot}/var/lib/kcover`;
    await expect(files.list()).rejects.toMatchObject({ code: 'refused', because });
  });

  it('are named for workload and rank', async () => {
    await node.report('train/llm-pre-12.json');
    await node.report('other/a.b-0.json');
    const listing = await files.list();
    expect(listing.files.map(({ namespace, workload, rank }) => `${namespace} ${workload} ${rank}`).toSorted()).toEqual(
      ['other a.b 0', 'train llm-pre 12'],
    );
    expect(listing.ignored).toBe(0);
  });

  it.each([
    'llm.json',
    'llm-01.json',
    'llm-10000.json',
    'llm-1.json.tmp',
    'LLM-1.json',
    '-1.json',
    'a_b-1.json',
    'llm--.json',
    'llm-1 .json',
  ])('are not those with a name like %j', async (name) => {
    await node.report(`train/${name}`);
    expect(await files.list()).toEqual({ files: [], ignored: 1 });
  });

  it('are not those of a directory that no namespace is called', async () => {
    await node.report('Train/llm-0.json');
    await node.report(`${'n'.repeat(64)}/llm-0.json`);
    expect(await files.list()).toEqual({ files: [], ignored: 2 });
  });

  it('are regular files only: no links, FIFOs, or directories', async () => {
    await node.report('train/llm-0.json');
    await symlink('llm-0.json', node.path('train/llm-1.json'));
    execFileSync('mkfifo', [node.path('train/llm-2.json')]);
    await mkdir(node.path('train/llm-3.json'));
    await symlink('train', node.path('linked'));
    await writeFile(node.path('file'), '');
    expect(await keys()).toEqual(['train/llm-0.json']);
    expect((await files.list()).ignored).toBe(5);
  });

  it('cannot be read through a link', async () => {
    await node.report('train/llm-0.json');
    const other = await preflightNode();
    try {
      await rm(`${other.hostRoot}/var/lib/kcover`, { recursive: true });
      await symlink(`${node.hostRoot}/var/lib/kcover`, `${other.hostRoot}/var/lib/kcover`);
      await expect(reportFiles(other.hostRoot).list()).rejects.toMatchObject({
        code: 'refused',
        because: expect.stringContaining('link'),
      });
    } finally {
      await other.remove();
    }
  });

  it('are the newest when there are too many of a namespace, and those of another are all there', async () => {
    await node.report('train/old-0.json', 'x', '2020-01-01T07:00:00Z');
    await Promise.all(Array.from({ length: 200 }, (_, rank) => writeFile(node.path(`train/llm-${rank}.json`), '')));
    await node.report('other/old-0.json', 'x', '2020-01-01T07:00:00Z');
    const listing = await files.list();
    expect(listing.files).toHaveLength(201);
    expect(listing.files.map(({ key }) => key)).toContain('other/old-0.json');
    expect(listing.files.map(({ key }) => key)).not.toContain('train/old-0.json');
    expect(listing.ignored).toBe(1);
  });

  it('are the newest 20,000 when there are too many of all namespaces', async () => {
    const namespaces = Array.from({ length: 101 }, (_, index) => `tenant-${index}`);
    await node.report('tenant-7/old-0.json', 'x', '2020-01-01T07:00:00Z');
    for (const namespace of namespaces) {
      await mkdir(node.path(namespace), { recursive: true });
      await Promise.all(
        Array.from({ length: 199 }, (_, rank) => writeFile(node.path(`${namespace}/llm-${rank}.json`), '')),
      );
    }
    const listing = await files.list();
    expect(listing.files).toHaveLength(20_000);
    expect(listing.ignored).toBe(101 * 199 + 1 - 20_000);
    expect(listing.files.map(({ key }) => key)).not.toContain('tenant-7/old-0.json');
    expect(listing.files.every((file, at) => file.writtenMs <= (listing.files[at - 1]?.writtenMs ?? Infinity))).toBe(
      true,
    );
  }, 120_000);

  it('are found however many names stand beside their namespace that none has', async () => {
    await node.report('train/llm-0.json');
    for (let count = 0; count < 1100; count++) await writeFile(node.path(`Junk ${count}`), '');
    expect(await files.list()).toMatchObject({ files: [{ key: 'train/llm-0.json' }], ignored: 1100 });
  });

  it('have another version when they were rewritten with as many bytes', async () => {
    await node.report('train/llm-0.json', rawReport({ rank: 0 }));
    const before = await only();
    await node.report('train/llm-0.json', rawReport({ rank: 1 }));
    expect((await only()).version).not.toBe(before.version);
  });
});

describe('a report file', () => {
  it('is read as a report, with the time at which it was written', async () => {
    await node.report('train/llm-0.json', rawReport({ rank: 3, node_name: 'gpu-9' }));
    expect(await files.read(await only())).toEqual({
      namespace: 'train',
      workload: 'llm',
      rank: 0,
      writtenAt: '2026-11-21T07:00:00.250Z',
      // The agent does not compare rank and node with the file name: the controller does.
      report: expect.objectContaining({ rank: 3, node: 'gpu-9', size: 4 }),
    });
  });

  it('is sent with its problem when it is no report', async () => {
    await node.report('train/llm-0.json', '{"workload_size": 4');
    expect(await files.read(await only())).toMatchObject({ rank: 0, problem: { field: 'parse' } });
    await node.report('train/llm-0.json', rawReport({ node_name: '' }));
    expect(await files.read(await only())).toMatchObject({ problem: { field: 'node_name' } });
  });

  it('is too large without being read when it has more bytes than allowed', async () => {
    await node.report('train/llm-0.json', '');
    await truncate(node.path('train/llm-0.json'), 2 * preflightLimits.fileBytes);
    expect(await files.read(await only())).toMatchObject({ problem: { field: 'too-large' } });
  });

  it('is not read when it has changed since it was listed', async () => {
    await node.report('train/llm-0.json');
    const listed = await only();
    await appendFile(node.path('train/llm-0.json'), ' ');
    expect(await files.read(listed)).toBe('changed');
  });

  it('is not read when a link has taken its place, or it is gone', async () => {
    await node.report('train/llm-0.json');
    await node.report('train/llm-1.json');
    const { files: listed } = await files.list();
    for (const { key } of listed) await rm(node.path(key));
    await symlink('/etc/hostname', node.path('train/llm-0.json'));
    const codes = await Promise.all(
      listed.map((file) => files.read(file).catch((error: { code: string }) => `${file.rank} ${error.code}`)),
    );
    expect(codes).toEqual(expect.arrayContaining(['0 refused', '1 not-found']));
  });

  it('has a time that can be sent, whatever its clock said', async () => {
    await node.report('train/llm-0.json');
    const listed = await only();
    await utimes(node.path('train/llm-0.json'), 1e12, 1e12);
    const { version } = await only();
    const read = await files.read({ ...listed, version, writtenMs: 1e15 });
    expect(read).toMatchObject({ writtenAt: '9999-12-31T23:59:59.999Z' });
  });

  it('leaves no open files behind, whatever happens', async () => {
    await node.report('train/llm-0.json');
    await node.report('train/llm-1.json', 'no json');
    const { files: listed } = await files.list();
    for (const file of listed) await files.read(file);
    for (const file of listed) await files.read({ ...file, version: 'older' });
    expect(execFileSync('ls', ['-l', `/proc/${process.pid}/fd`], { encoding: 'utf8' })).not.toContain(node.hostRoot);
  });
});
