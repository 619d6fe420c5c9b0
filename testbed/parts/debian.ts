import { existsSync } from 'node:fs';
import type { OnProgress } from './cache.ts';
import { must, PartError } from './command.ts';
import type { Environment } from './environment.ts';
import { withProgress } from './progress.ts';

/** What real nodes need of the machine: a file, and the Debian package that brings it. */
const needed = {
  '/sbin/ip': 'iproute2',
  '/sbin/mkfs.ext4': 'e2fsprogs',
  '/sbin/iptables': 'iptables',
  '/usr/lib/cni/ptp': 'containernetworking-plugins',
  '/usr/bin/mmdebstrap': 'mmdebstrap',
  '/usr/bin/gcc': 'gcc',
  '/usr/include/stdlib.h': 'libc6-dev',
  '/usr/include/seccomp.h': 'libseccomp-dev',
  '/usr/bin/pkg-config': 'pkg-config',
} as const;

export function requireRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new PartError('cannot start real nodes', 'mounts, namespaces and cgroups need root, and this is another user', 'run the same command as root');
}

/** Installs the Debian packages that are missing. */
export async function debianPackages(environment: Environment, onProgress: OnProgress): Promise<void> {
  const missing = Object.entries(needed).flatMap(([file, name]) => (existsSync(file) ? [] : [name]));
  if (missing.length === 0) return;
  const what = `cannot install ${missing.join(', ')}`;
  if (!existsSync('/usr/bin/apt-get')) {
    throw new PartError(what, 'this machine has no apt-get', 'install them by hand, at the paths where Debian has them, or use a Debian machine');
  }
  const apt = (...args: string[]) => ({ file: '/usr/bin/apt-get', args, env: { ...environment.commands, DEBIAN_FRONTEND: 'noninteractive' } });
  await withProgress(`installing ${missing.join(', ')}`, onProgress, async () => {
    await must(apt('update', '-qq'), what, 'check the network and /etc/apt/sources.list');
    await must(apt('install', '-y', '-qq', '--no-install-recommends', ...missing), what, 'apt-get install them by hand and read its errors');
  });
}
