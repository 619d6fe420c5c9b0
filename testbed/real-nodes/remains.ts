import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { authorityOf } from './authority.ts';
import { removeGroups } from './cgroups.ts';
import { removeNetwork } from './network.ts';
import { waitAtExit } from './wait-at-exit.ts';

/**
 * Removes what real nodes leave behind, except files, after their first processes were killed: cgroups, once the last container is gone, and the
 * network. Mounts and namespaces end with the processes.
 */
export function removeRemains(runDirectory: string): void {
  if (!existsSync(authorityOf(runDirectory))) return;
  removeGroups(runDirectory);
  removeNetwork(runDirectory);
  waitAtExit(10_000, () => !backingFiles().some((file) => file.startsWith(runDirectory)));
}

/** Backing files of loop devices: one is released a moment after the mount namespace that used it. */
function backingFiles(): string[] {
  return readdirSync('/sys/block').flatMap((device) => {
    try {
      return [readFileSync(`/sys/block/${device}/loop/backing_file`, 'utf8')];
    } catch {
      return [];
    }
  });
}
