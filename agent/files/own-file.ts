/**
 * Files of the agent's own state. It runs as root with access to devices, so a symbolic link in their place is an error and is not followed,
 * and only regular files are written.
 */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** File mode: reports contain lines of the kernel log. */
const mode = 0o600;

/** O_NONBLOCK: opening a FIFO would block. */
async function withFile<T>(path: string, flags: number, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags | O_NOFOLLOW | O_NONBLOCK, mode);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is not a regular file`);
    return await use(file);
  } finally {
    await file.close();
  }
}

export const readOwnFile = (path: string): Promise<string> => withFile(path, O_RDONLY, (file) => file.readFile('utf8'));

export const appendOwnFile = (path: string, text: string): Promise<void> =>
  withFile(path, O_WRONLY | O_APPEND | O_CREAT, (file) => file.appendFile(text));

/** Atomic: a crash leaves the old file or the new one. `forAll`: everybody may read it, whatever the umask. */
export async function replaceOwnFile(directory: string, name: string, text: string, forAll = false): Promise<void> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, name);
  const fresh = `${path}.new`;
  // Removes a leftover of a crash, or a link: only a newly created file is written.
  await rm(fresh, { force: true });
  await withFile(fresh, O_WRONLY | O_CREAT | O_EXCL, async (file) => {
    await file.writeFile(text);
    if (forAll) await file.chmod(0o644);
  });
  await rename(fresh, path);
}
