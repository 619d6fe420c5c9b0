import { readFileSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type StatusFile, startStatusFile } from '../../agent/status-file.ts';
import { connectController } from '../../agent/upload/connection.ts';
import type { NodeNotice } from '../../contract/node/notice.ts';
import { nodeStatusFile } from '../../contract/node/notice.schema.ts';
import { quarantinedPhases } from '../../contract/node/nodes.ts';
import { startHttpsController } from './https-controller.ts';
import { until } from './until.ts';

const never = 3_600_000;
const quarantined: NodeNotice = {
  state: 'quarantined',
  since: '2026-11-21T09:15:12.000Z',
  reason: 'xid-79',
  incident: 'node/gpu-3/2026-11-21T09:15:12.000Z',
};

let directory = '';
let file: StatusFile | undefined;
let logged: string[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-status-'));
  logged = [];
});
afterEach(async () => {
  await file?.stop();
  await rm(directory, { recursive: true, force: true });
});

function start(times: { look?: number; repeat?: number; silent?: number } = {}, where = directory): StatusFile {
  file = startStatusFile({
    directory: where,
    node: 'gpu-3',
    heartbeatMs: 10_000,
    log: pino({}, { write: (line: string) => void logged.push(line) }),
    times: { look: 5, repeat: never, silent: never, ...times },
  });
  return file;
}
const read = (): Record<string, unknown> => {
  try {
    return JSON.parse(readFileSync(join(directory, 'node.json'), 'utf8'));
  } catch {
    return {};
  }
};
const becomes = (state: string) => until(() => read()['state'] === state);

describe('the status file', () => {
  it('says what the controller thinks of the node, since when and why, as its schema documents', async () => {
    const status = start();
    status.answered(quarantined);
    await becomes('quarantined');
    const content = read();
    expect(nodeStatusFile.parse(content)).toEqual(content);
    expect(content).toEqual({
      schema: 1,
      node: 'gpu-3',
      ...quarantined,
      because: 'the node is quarantined: new pods are kept off it',
      writtenAt: expect.any(String),
      lastAnswerAt: expect.any(String),
    });
    status.answered({ state: 'healthy' });
    await becomes('healthy');
    expect(Object.keys(read()).toSorted()).toEqual(['because', 'lastAnswerAt', 'node', 'schema', 'state', 'writtenAt']);
  });

  it.each(quarantinedPhases)('knows the phase %s', async (state) => {
    start().answered({ state });
    await becomes(state);
    expect(nodeStatusFile.safeParse(read()).success).toBe(true);
  });

  it('can be read by everybody, and written by its owner only', async () => {
    const umask = process.umask(0o077);
    try {
      start().answered({ state: 'healthy' });
      await becomes('healthy');
    } finally {
      process.umask(umask);
    }
    expect((await lstat(join(directory, 'node.json'))).mode & 0o777).toBe(0o644);
    expect(await readdir(directory)).toEqual(['node.json']);
  });

  it('is not written again while nothing changed, and is from time to time', async () => {
    const status = start({ repeat: never });
    status.answered({ state: 'healthy' });
    await becomes('healthy');
    const { writtenAt } = read();
    for (let again = 0; again < 5; again++) {
      status.answered({ state: 'healthy' });
      await status.stop();
    }
    expect(read()['writtenAt']).toBe(writtenAt);

    start({ repeat: 20 }).answered({ state: 'healthy' });
    await until(() => read()['writtenAt'] !== writtenAt);
    const second = read()['writtenAt'];
    await until(() => read()['writtenAt'] !== second);
  });

  it('says unknown when no controller has answered for some time, and when the last answer was', async () => {
    const status = start({ silent: 300 });
    status.answered(quarantined);
    await becomes('quarantined');
    const { lastAnswerAt } = read();
    status.answered(undefined);
    await becomes('unknown');
    const content = read();
    expect(nodeStatusFile.parse(content)).toEqual(content);
    expect(content).toMatchObject({ lastAnswerAt });
    expect(content).not.toHaveProperty('reason');
    status.answered({ state: 'healthy' });
    await becomes('healthy');
  });

  it('keeps what the previous agent wrote until there is an answer, or has been none for some time', async () => {
    await writeFile(join(directory, 'node.json'), '{"state":"probation"}');
    const status = start();
    status.answered(undefined);
    await status.stop();
    expect(read()).toEqual({ state: 'probation' });
    start({ silent: 20 });
    await becomes('unknown');
    expect(read()).not.toHaveProperty('lastAnswerAt');
  });

  it('that cannot be written is reported once, stops nothing, and is written when that is possible again', async () => {
    const where = join(directory, 'status');
    await writeFile(where, 'a file in the place of the directory');
    const status = start({}, where);
    for (let again = 0; again < 3; again++) status.answered({ state: 'healthy' });
    await until(() => status.status().unwritable !== undefined);
    await until(() => logged.length > 0);
    await rm(where);
    await until(() => status.status().unwritable === undefined);
    expect(JSON.parse(await readFile(join(where, 'node.json'), 'utf8'))).toMatchObject({ state: 'healthy' });
    expect(logged).toHaveLength(1);
  });

  it('replaces a link in its place, and leaves alone what the link leads to', async () => {
    const target = join(directory, 'target');
    await writeFile(target, 'precious');
    await chmod(target, 0o600);
    for (const name of ['node.json', 'node.json.new']) await symlink(target, join(directory, name));
    start().answered({ state: 'healthy' });
    await becomes('healthy');
    expect(await readFile(target, 'utf8')).toBe('precious');
    expect((await lstat(target)).mode & 0o777).toBe(0o600);
    expect((await lstat(join(directory, 'node.json'))).isFile()).toBe(true);
  });

  it('is not written without a directory', async () => {
    const status = start({ silent: 1 }, '');
    status.answered(quarantined);
    await mkdir(join(directory, 'other'));
    expect(status.status()).toEqual({});
    expect(await readdir(directory)).toEqual(['other']);
  });
});

describe('what a controller says of a node', () => {
  const asked = async (node: unknown) => {
    const controller = await startHttpsController();
    const { url, caFile, tokenFile } = controller;
    const connection = connectController({ url, caFile, tokenFile }, '0.1.0');
    try {
      controller.answer(() => ({ status: 202, body: { accepted: 0, follow: [], node } }));
      return await connection.post(
        { schema: 1, node: 'gpu-3', bootId: 'b', stream: 's', reports: [], gaps: [] },
        AbortSignal.timeout(10_000),
      );
    } finally {
      await connection.close();
      await controller.close();
    }
  };

  it('is taken where it is well formed, without fields that this agent does not know', async () => {
    expect(await asked({ ...quarantined, later: 'x' })).toMatchObject({ kind: 'accepted', notice: quarantined });
    expect(await asked({ ...quarantined, later: 'x' })).not.toHaveProperty('notice.later');
  });

  it.each([
    ['nothing, as of an older one', undefined],
    ['a state that does not exist', { state: 'broken' }],
    ['a reason with markup', { ...quarantined, reason: '<b>' }],
    ['a reason that is too long', { ...quarantined, reason: 'x'.repeat(64) }],
    ['an incident with a path', { ...quarantined, incident: 'node/../../etc/passwd' }],
    ['a time that is none', { ...quarantined, since: 'yesterday' }],
  ])('is left out, and reports are accepted all the same, where it is %s', async (_, node) => {
    const answer = await asked(node);
    expect(answer).toMatchObject({ kind: 'accepted', accepted: 0 });
    expect(answer).toHaveProperty('notice', undefined);
  });
});
