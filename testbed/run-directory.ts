import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { removeRemains } from './real-nodes/remains.ts';
import { commandLine, isAlive, self, type ProcessId } from './process-id.ts';

/** Directory of all test clusters of this user, and of the ports that they hold. */
export const runsDirectory = join(tmpdir(), `kcover-testbed-${userInfo().uid}`);
export const portsDirectory = join(runsDirectory, 'ports');
/** Below a run directory: one file for each server, with the pid of its process. */
export const pidsOf = (directory: string): string => join(directory, 'pids');

/**
 * Creates the directory of a new test cluster. Its name contains its owner (pid, start time), so that it has an owner from the start.
 */
export function createRunDirectory(): string {
  const { pid, startedAt } = self();
  const directory = join(runsDirectory, `${pid}-${startedAt || '0'}-${randomBytes(3).toString('hex')}`);
  mkdirSync(pidsOf(directory), { recursive: true });
  mkdirSync(portsDirectory, { recursive: true });
  return directory;
}

/** Ends what crashed owners left running, removes their directories, frees their ports. */
export async function sweep(): Promise<string[]> {
  await mkdir(portsDirectory, { recursive: true });
  const swept: string[] = [];
  for (const name of await readdir(runsDirectory)) {
    const owner = ownerOf(name);
    if (owner === undefined || isAlive(owner)) continue;
    const directory = join(runsDirectory, name);
    killChildren(directory);
    removeRemains(directory);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    swept.push(directory);
  }
  for (const port of await readdir(portsDirectory)) {
    const holder = await readFile(join(portsDirectory, port), 'utf8').catch(() => '');
    const owner = ownerOf(holder);
    if (owner !== undefined && !isAlive(owner)) rmSync(join(portsDirectory, port), { force: true });
  }
  return swept;
}

/** Ends every test cluster of this process at once. For callers that cannot know them all: a test in its own context is not notified when the process exits. */
export function endOwnTestClusters(): void {
  const { pid } = self();
  for (const name of readdirSync(runsDirectory)) {
    if (ownerOf(name)?.pid !== pid) continue;
    killChildren(join(runsDirectory, name));
    removeRemains(join(runsDirectory, name));
    rmSync(join(runsDirectory, name), { recursive: true, force: true });
  }
}

/**
 * Kills the recorded processes of a test cluster that are really its own (a pid may have been reused), forgets
 * them, so that nothing can be started in this test cluster any more, and returns them.
 */
export function killChildren(directory: string): number[] {
  const own = childrenOf(directory).filter((pid) => commandLine(pid).includes(directory));
  for (const pid of own) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself in the meantime.
    }
  }
  rmSync(pidsOf(directory), { recursive: true, force: true });
  return own;
}

function childrenOf(directory: string): number[] {
  const pids = pidsOf(directory);
  try {
    return readdirSync(pids)
      .map((name) => Number(readFileSync(join(pids, name), 'utf8')))
      .filter((pid) => pid > 0);
  } catch {
    return [];
  }
}

function ownerOf(name: string): ProcessId | undefined {
  const [, pid, startedAt = ''] = /^(\d+)-(\d+)-/.exec(name) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt: startedAt === '0' ? '' : startedAt };
}
