import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { chmod, link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { listHostDirectory, openHostFile, readHostFile, readHostLink } from '../../agent/host-root.ts';

let root = '';
let outside = '';

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kcover-host-'));
  outside = await mkdtemp(join(tmpdir(), 'kcover-outside-'));
  await mkdir(join(root, 'var/lib'), { recursive: true });
  await writeFile(join(root, 'var/lib/report.json'), 'hello');
  await writeFile(join(outside, 'secret'), 'secret');
});

afterEach(async () => {
  await Promise.all([root, outside].map((directory) => rm(directory, { recursive: true, force: true })));
});

/** Files that this process has open; one that is closed meanwhile is none. */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return [];
    }
  });

describe('a file below the host root', () => {
  it('is read', async () => {
    expect(await readHostFile(root, '/var/lib/report.json', 100)).toBe('hello');
    expect(await readHostFile(root, 'var//./lib/report.json', 5)).toBe('hello');
  });

  it('is refused when it has more bytes than wanted', async () => {
    await expect(readHostFile(root, '/var/lib/report.json', 4)).rejects.toMatchObject({
      code: 'refused',
      because: expect.stringContaining('more than 4 bytes'),
    });
  });

  it('is read although the kernel says that it is empty', async () => {
    expect(await readHostFile('/', '/proc/sys/kernel/random/boot_id', 256)).toMatch(/^[0-9a-f-]{36}\n$/);
  });

  it('is not found when it is not there, or a directory on the way is not', async () => {
    await expect(readHostFile(root, '/var/lib/nothing', 100)).rejects.toMatchObject({ code: 'not-found' });
    await expect(readHostFile(root, '/no/lib/nothing', 100)).rejects.toMatchObject({ code: 'not-found' });
  });

  it.each(['/', '', '/var/../../etc/passwd', '..', '/var/lib/report.json/..', '/a\0b'])(
    'is refused for the path %j',
    async (path) => {
      await expect(readHostFile(root, path, 100)).rejects.toMatchObject({ code: 'refused' });
    },
  );

  it('is refused when it is a link, even to a file below the root', async () => {
    await symlink(join(outside, 'secret'), join(root, 'var/lib/away'));
    await symlink('report.json', join(root, 'var/lib/near'));
    await symlink('nowhere', join(root, 'var/lib/dangling'));
    for (const name of ['away', 'near', 'dangling'])
      await expect(readHostFile(root, `/var/lib/${name}`, 100)).rejects.toMatchObject({ code: 'refused' });
  });

  it('is refused when a directory on the way is a link', async () => {
    await symlink(outside, join(root, 'var/out'));
    await expect(readHostFile(root, '/var/out/secret', 100)).rejects.toMatchObject({
      code: 'refused',
      because: expect.stringContaining('link'),
    });
  });

  it('is refused at once when it is a FIFO without a writer', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await expect(readHostFile(root, '/pipe', 100)).rejects.toMatchObject({ code: 'refused' });
    await expect(openHostFile(root, '/pipe', { device: true })).rejects.toMatchObject({ code: 'refused' });
  });

  it('is refused when it is a directory', async () => {
    await expect(readHostFile(root, '/var', 100)).rejects.toMatchObject({
      code: 'refused',
      because: expect.stringContaining('not a regular file'),
    });
  });

  it('is refused when it is a device that was not asked for', async () => {
    await expect(readHostFile('/', '/dev/null', 100)).rejects.toMatchObject({ code: 'refused' });
    const file = await openHostFile('/', '/dev/null', { device: true });
    expect((await file.stat()).isCharacterDevice()).toBe(true);
    await file.close();
  });

  it('may have two names', async () => {
    await link(join(root, 'var/lib/report.json'), join(root, 'second'));
    expect(await readHostFile(root, '/second', 100)).toBe('hello');
  });

  it('leaves no open files behind, whatever happens', async () => {
    await chmod(join(root, 'var/lib/report.json'), 0o600);
    for (const path of ['/var/lib/report.json', '/var/lib/nothing', '/var', '/no/way'])
      await readHostFile(root, path, 100).catch(() => undefined);
    expect(openFiles().filter((file) => file.startsWith(root))).toEqual([]);
  });
});

describe('a directory below the host root', () => {
  it('is listed, links as links', async () => {
    await symlink('report.json', join(root, 'var/lib/near'));
    await mkdir(join(root, 'var/lib/deep'));
    const { entries, more } = await listHostDirectory(root, '/var/lib', 3);
    const kinds = entries.map(
      ({ name, stats }) => `${name} ${stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other'}`,
    );
    expect(kinds.toSorted()).toEqual(['deep directory', 'near other', 'report.json file']);
    expect(more).toBe(false);
  });

  it('is listed up to a limit, and reports that there are more entries', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(root, 'var/lib', name), '');
    const { entries, more } = await listHostDirectory(root, '/var/lib', 2);
    expect([entries.length, more]).toEqual([2, true]);
  });

  it('is refused when it is a link or a file, or lies behind a link', async () => {
    await mkdir(join(outside, 'deep'));
    await symlink(outside, join(root, 'var/out'));
    for (const path of ['/var/out', '/var/out/deep', '/var/lib/report.json', '/var/..']) {
      await expect(listHostDirectory(root, path, 10)).rejects.toMatchObject({ code: 'refused' });
    }
    await expect(listHostDirectory(root, '/var/nothing', 10)).rejects.toMatchObject({ code: 'not-found' });
  });

  it('leaves no open files behind, however far it is listed', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(root, 'var/lib', name), '');
    for (const most of [1, 10]) await listHostDirectory(root, '/var/lib', most);
    await listHostDirectory(root, '/var/nothing', 10).catch(() => undefined);
    expect(openFiles().filter((file) => file.startsWith(root))).toEqual([]);
  });
});

describe('a link below the host root', () => {
  const link = (target: string) => symlink(target, join(root, 'sys/class/infiniband/mlx5_0'));
  const read = (below = '/sys/devices') => readHostLink(root, '/sys/class/infiniband/mlx5_0', below);

  beforeEach(async () => {
    await mkdir(join(root, 'sys/class/infiniband'), { recursive: true });
    await mkdir(join(root, 'sys/devices/card'), { recursive: true });
    await writeFile(join(root, 'sys/devices/card/state'), 'up');
  });

  it('is read as the path that it refers to, whether or not that is there', async () => {
    await link('../../devices/./card//');
    expect(await read()).toBe('/sys/devices/card');
    expect(await readHostFile(root, `${await read()}/state`, 10)).toBe('up');
    await rm(join(root, 'sys/devices/card'), { recursive: true });
    expect(await read()).toBe('/sys/devices/card');
  });

  it.each([
    '/sys/devices/card',
    '/etc/passwd',
    '../../../../etc/passwd',
    '../../../../../../../../sys/devices/card',
    '../../../sys/../../sys/devices/card',
    '../../devices',
    '../../devices/../class/net',
    '../../devicesx/card',
    'mlx5_0',
  ])('is refused when it is to %s', async (target) => {
    await link(target);
    await expect(read()).rejects.toMatchObject({ code: 'refused', because: expect.stringContaining('it is a link') });
  });

  it('is refused when its own path has a link, or when it is none; and not found when it is not there', async () => {
    await expect(read()).rejects.toMatchObject({ code: 'not-found' });
    await mkdir(join(root, 'sys/class/infiniband/mlx5_0'));
    await expect(read()).rejects.toMatchObject({ code: 'refused', because: expect.stringContaining('not a link') });
    await symlink('class', join(root, 'sys/again'));
    await expect(readHostLink(root, '/sys/again/infiniband/mlx5_0', '/sys')).rejects.toMatchObject({ code: 'refused' });
    await expect(readHostLink(root, '/', '/sys')).rejects.toMatchObject({ code: 'refused' });
  });

  it('leads to no file behind a second link', async () => {
    await symlink(outside, join(root, 'sys/devices/out'));
    await link('../../devices/out');
    const path = await read();
    await expect(readHostFile(root, `${path}/secret`, 100)).rejects.toMatchObject({ code: 'refused' });
    await expect(listHostDirectory(root, path, 10)).rejects.toMatchObject({ code: 'refused' });
  });
});
