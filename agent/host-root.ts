/**
 * Opens files of the node below one directory. Tenants can write in some places there, so no symbolic link is followed in any path
 * component, only regular files are opened, and reads are bounded.
 *
 * Node has no openat(2). `/proc/self/fd/N/name` does the same: N is a directory that is already open, so a rename or link in the
 * meantime cannot redirect the walk (lstat and realpath would have that race). O_PATH refers to a file without opening it, so that
 * a FIFO cannot block and a device is not touched before its type is known. Linux only, as the agent is.
 */

import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { KcoverError } from '../contract/errors.ts';
import { systemErrorCode } from './system-error.ts';

/** From linux/fcntl.h, the same on x64 and arm64; Node has no constant for it. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Which files other than regular ones may be opened. Only the kernel log is a device. */
export interface OpenOptions {
  readonly device?: boolean;
}

const within = (directory: FileHandle, name: string): string => `/proc/self/fd/${directory.fd}/${name}`;

function asError(error: unknown, path: string): KcoverError {
  if (error instanceof KcoverError) return error;
  const code = systemErrorCode(error) ?? 'unknown error';
  if (code === 'ENOENT')
    return new KcoverError('not-found', path, {
      what: 'the node has no such file',
      remedy: 'check hostRoot and what is mounted there',
      cause: error,
    });
  const because: Record<string, string> = {
    ELOOP: 'a component is a link',
    ENOTDIR: 'a component is a link or not a directory',
    EACCES: 'permission denied',
    EPERM: 'operation not permitted; /dev/kmsg needs CAP_SYSLOG',
  };
  return refused(path, because[code] ?? code, error);
}

const refused = (path: string, because: string, cause?: unknown): KcoverError =>
  new KcoverError('refused', `${path}: ${because}`, {
    what: 'the file of the node cannot be used',
    remedy: 'check permissions and the file type at this path',
    cause,
  });

function namesOf(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.some((name) => name === '..' || name.includes('\0')))
    throw refused(path, 'it is not a path below the host root');
  return names;
}

/** Opens every directory on the way and hands the last one to `use`. */
async function inDirectory<T>(
  hostRoot: string,
  names: readonly string[],
  use: (directory: FileHandle) => Promise<T>,
): Promise<T> {
  let directory = await open(hostRoot, O_RDONLY | O_DIRECTORY);
  try {
    for (const name of names) {
      const next = await open(within(directory, name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
      await directory.close();
      directory = next;
    }
    return await use(directory);
  } finally {
    await directory.close();
  }
}

async function openEntry(
  directory: FileHandle,
  name: string,
  path: string,
  { device = false }: OpenOptions,
): Promise<FileHandle> {
  const looked = await open(within(directory, name), O_PATH | O_NOFOLLOW);
  try {
    const stat = await looked.stat();
    if (stat.isSymbolicLink()) throw refused(path, 'it is a link');
    if (!stat.isFile() && !(device && stat.isCharacterDevice()))
      throw refused(path, `it is not a regular file${device ? ' or character device' : ''}`);
    return await open(`/proc/self/fd/${looked.fd}`, O_RDONLY | O_NONBLOCK);
  } finally {
    await looked.close();
  }
}

/** Opens a file below `hostRoot`, non-blocking. Throws `not-found` or `refused`; the caller closes the handle. */
export async function openHostFile(hostRoot: string, path: string, options: OpenOptions = {}): Promise<FileHandle> {
  const names = namesOf(path);
  const last = names.pop();
  if (last === undefined) throw refused(path, 'it is not a path below the host root');
  const shown = join(hostRoot, path);
  try {
    return await inDirectory(hostRoot, names, (directory) => openEntry(directory, last, shown, options));
  } catch (error) {
    throw asError(error, shown);
  }
}

/** The text of an open file from its start; undefined when it has more than `most` bytes. */
export async function readAtMost(file: FileHandle, most: number): Promise<string | undefined> {
  // Files of /proc report size 0, so the size is found by reading.
  const buffer = Buffer.alloc(most + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length > most) break;
  }
  return length > most ? undefined : buffer.toString('utf8', 0, length);
}

/** The text of a regular file. Throws `refused` when it has more than `most` bytes. */
export async function readHostFile(hostRoot: string, path: string, most: number): Promise<string> {
  const file = await openHostFile(hostRoot, path);
  try {
    const text = await readAtMost(file, most);
    if (text === undefined) throw refused(join(hostRoot, path), `it has more than ${most} bytes`);
    return text;
  } finally {
    await file.close();
  }
}

/**
 * The path below `hostRoot` that a symbolic link refers to. The link itself is not followed: what opens the path walks it from the host root, through
 * no further link. Only relative links that stay below `below` are accepted. No component of `path` before the last one is a link, so `..` in the
 * target can be resolved as text.
 */
export async function readHostLink(hostRoot: string, path: string, below: string): Promise<string> {
  const names = namesOf(path);
  const last = names.pop();
  if (last === undefined) throw refused(path, 'it is not a path below the host root');
  const shown = join(hostRoot, path);
  try {
    const target = await inDirectory(hostRoot, names, (directory) => readlink(within(directory, last)));
    return `/${targetNames(shown, names, target, namesOf(below)).join('/')}`;
  } catch (error) {
    throw systemErrorCode(error) === 'EINVAL' ? refused(shown, 'it is not a link', error) : asError(error, shown);
  }
}

function targetNames(
  shown: string,
  from: readonly string[],
  target: string,
  below: readonly string[],
): readonly string[] {
  const names = target.startsWith('/') ? [] : [...from];
  for (const name of target.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
    if (names.length === 0) throw refused(shown, 'it is a link that does not stay below the host root');
  }
  if (names.length <= below.length || below.some((name, at) => names[at] !== name))
    throw refused(shown, `it is a link to a place outside /${below.join('/')}`);
  return names;
}

/** The entries of a directory, unordered; links are reported as links. */
export interface HostListing {
  readonly entries: readonly { readonly name: string; readonly stats: Stats }[];
  /** There are more names than were wanted. */
  readonly more: boolean;
  /** Names that `wanted` refuses. */
  readonly others: number;
}

type NameFilter = (name: string) => boolean;

async function listEntries(directory: FileHandle, most: number, wanted: NameFilter): Promise<HostListing> {
  const entries: { name: string; stats: Stats }[] = [];
  let seen = 0;
  let others = 0;
  for await (const { name } of await opendir(`/proc/self/fd/${directory.fd}`, { bufferSize: 256 })) {
    if (!wanted(name)) {
      others += 1;
      continue;
    }
    if (++seen > most) return { entries, more: true, others };
    // It may be gone by now, or its name may not be valid UTF-8.
    const stats = await lstat(within(directory, name)).catch(() => undefined);
    if (stats) entries.push({ name, stats });
  }
  return { entries, more: false, others };
}

/** At most `most` entries with wanted names of a directory below `hostRoot`; others are only counted. Throws `not-found` or `refused`. */
export async function listHostDirectory(
  hostRoot: string,
  path: string,
  most: number,
  wanted: NameFilter = () => true,
): Promise<HostListing> {
  const names = namesOf(path);
  try {
    return await inDirectory(hostRoot, names, (directory) => listEntries(directory, most, wanted));
  } catch (error) {
    throw asError(error, join(hostRoot, path));
  }
}
