import { access, link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, self, type ProcessId } from '../process-id.ts';

export type OnProgress = (line: string) => void;

/**
 * Returns the directory `target`, built by `build` into a temporary directory if it is not there yet.
 * It appears by one rename, so an incomplete build is never visible; a lock makes a second builder wait.
 */
export async function cached(
  target: string,
  build: (directory: string) => Promise<void>,
  onProgress: OnProgress,
): Promise<string> {
  if (await exists(target)) return target;
  await mkdir(dirname(target), { recursive: true });
  const unlock = await lock(`${target}.lock`, onProgress);
  try {
    if (await exists(target)) return target;
    await removeUnfinished(target);
    const directory = await mkdtemp(`${target}.building-`);
    try {
      await build(directory);
      await rename(directory, target);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
    return target;
  } finally {
    await unlock();
  }
}

/** Removes what a killed builder left behind; the holder of the lock knows that no other process is building. */
async function removeUnfinished(target: string): Promise<void> {
  const unfinished = (await readdir(dirname(target))).filter((name) =>
    name.startsWith(`${basename(target)}.building-`),
  );
  await Promise.all(unfinished.map((name) => rm(join(dirname(target), name), { recursive: true, force: true })));
}

async function lock(file: string, onProgress: OnProgress): Promise<() => Promise<void>> {
  const mine = JSON.stringify(self());
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.${Date.now()}`);
  await writeFile(draft, mine);
  try {
    for (let reportedAt = 0; ;) {
      // Creating a link is atomic and brings its content along, so a lock is never seen without its holder.
      const taken = await link(draft, file).then(
        () => true,
        () => false,
      );
      if (taken) return () => rm(file, { force: true });
      const holder = await readHolder(file);
      if (holder === 'gone') continue;
      if (!isAlive(holder)) {
        await takeOver(file, holder);
        continue;
      }
      if (Date.now() - reportedAt > 15_000) {
        onProgress(`waiting for process ${holder.pid}, which is building the same (${file})`);
        reportedAt = Date.now();
      }
      await sleep(300);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** Moves the lock of a dead holder away; puts it back if another process took it over in between. */
async function takeOver(file: string, dead: ProcessId): Promise<void> {
  const stalePath = `${file}.${process.pid}.stale`;
  const moved = await rename(file, stalePath).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  const holder = await readHolder(stalePath);
  if (holder !== 'gone' && (holder.pid !== dead.pid || holder.startedAt !== dead.startedAt))
    await link(stalePath, file).catch(() => undefined);
  await rm(stalePath, { force: true });
}

async function readHolder(file: string): Promise<ProcessId | 'gone'> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessId;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone';
    return { pid: 0, startedAt: '' };
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
