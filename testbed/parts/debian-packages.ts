import { PartError, must, run } from './command.ts';
import type { OnProgress } from './cache.ts';
import type { Environment } from './environment.ts';
import { withProgress } from './progress.ts';

/** A program, and the Debian package that has it. */
export type DebianProgram = readonly [program: string, debianPackage: string];

/** Installs what is not on PATH. Only root can; everybody else is told which packages to ask for. */
export async function ensureDebianPrograms(programs: readonly DebianProgram[], { commands }: Environment, onProgress: OnProgress): Promise<void> {
  const there = await Promise.all(programs.map(async ([program]) => (await run({ file: program, args: ['--version'], env: commands })).code !== 127));
  const missing = programs.flatMap(([, name], index) => (there[index] ? [] : [name]));
  if (missing.length === 0) return;
  const install = ['install', '-y', '--no-install-recommends', ...missing];
  const attempt = `as root: apt-get ${install.join(' ')}`;
  if (process.getuid?.() !== 0) throw new PartError(`cannot find ${missing.join(', ')}`, 'not installed, and only root can install packages', attempt);
  await withProgress(`installing ${missing.join(', ')}`, onProgress, async () => {
    const env = { ...commands, DEBIAN_FRONTEND: 'noninteractive' };
    // A machine that never fetched the list of packages knows none.
    await must({ file: 'apt-get', args: ['update'], env }, 'cannot fetch the list of Debian packages', 'check the network (Debian mirror)');
    await must({ file: 'apt-get', args: install, env }, `cannot install ${missing.join(', ')}`, attempt);
  });
}
