import { existsSync } from 'node:fs';
import type { OnProgress } from './cache.ts';
import { must, PartError } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { withProgress } from './progress.ts';

/** A required file, and the Debian package that contains it. */
export type NeededFiles = Readonly<Record<string, string>>;

export function requireRoot(what: string): void {
  if (process.getuid?.() === 0) return;
  throw new PartError(
    `cannot ${what}`,
    'mounts, namespaces and cgroups need root, and this is another user',
    'run the same command as root',
  );
}

/** Installs the packages whose files are missing. Only root can; other users get an error that names the packages. */
export async function installMissing(
  needed: NeededFiles,
  environment: BuildEnvironment,
  onProgress: OnProgress,
): Promise<void> {
  const missing = Object.entries(needed).flatMap(([file, name]) => (existsSync(file) ? [] : [name]));
  if (missing.length === 0) return;
  const what = `cannot install ${missing.join(', ')}`;
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...missing];
  const byHand = `as root: apt-get ${install.join(' ')}`;
  if (process.getuid?.() !== 0) throw new PartError(what, 'only root can install packages', byHand);
  if (!existsSync('/usr/bin/apt-get')) {
    throw new PartError(
      what,
      'this machine has no apt-get',
      'install them by hand, at the paths where Debian has them, or use a Debian machine',
    );
  }
  const apt = (...args: string[]) => ({
    file: '/usr/bin/apt-get',
    args,
    env: { ...environment.commands, DEBIAN_FRONTEND: 'noninteractive' },
  });
  await withProgress(`installing ${missing.join(', ')}`, onProgress, async () => {
    await must(apt('update', '-qq'), what, 'check the network and /etc/apt/sources.list');
    await must(apt(...install), what, byHand);
  });
}
