import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { must, PartError, run } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { withProgress } from './progress.ts';

const what = 'cannot fetch promtool';
const limits = ['APT::Sandbox::User=root', 'Acquire::Retries=1', 'Acquire::http::Timeout=20'];
const attempt = 'put a `promtool` on PATH, or check the network and /etc/apt/sources.list';

/** Path of `promtool`: the machine's own, or that of Debian's package `prometheus`, which is unpacked and not installed. Needs no root. */
export async function promtoolProgram(environment: BuildEnvironment, onProgress: OnProgress): Promise<string> {
  const directories = (environment.commands.PATH ?? '').split(delimiter).filter(isAbsolute);
  const own = directories.map((directory) => join(directory, 'promtool')).find((program) => existsSync(program));
  if (own !== undefined) return own;
  if (!existsSync('/usr/bin/apt-get')) throw new PartError(what, 'this machine has no apt-get', attempt);
  const directory = await cached(
    join(environment.cache, `promtool-${process.platform}-${process.arch}`),
    (target) => withProgress('fetching promtool', onProgress, () => obtain(environment, target)),
    onProgress,
  );
  return join(directory, 'promtool');
}

/** The machine's own lists of packages are used where it has them. Without them, or without the right to write them, others are fetched: that takes a minute. */
async function obtain({ commands: env }: BuildEnvironment, target: string): Promise<void> {
  const scratch = join(target, 'apt');
  await mkdir(join(scratch, 'lists', 'partial'), { recursive: true });
  const own = [`Dir::State::Lists=${join(scratch, 'lists')}`, `Dir::Cache=${scratch}`];
  // A network that swallows packets must not hold a test for long.
  const apt = (settings: readonly string[], ...args: string[]) => ({
    file: 'timeout',
    args: ['120', 'apt-get', ...[...limits, ...settings].flatMap((setting) => ['-o', setting]), '-qq', ...args],
    env,
    cwd: scratch,
  });
  if ((await run(apt([], 'download', 'prometheus'))).code !== 0) {
    await must(apt(own, 'update'), what, attempt);
    await must(apt(own, 'download', 'prometheus'), what, attempt);
  }
  const file = (await readdir(scratch)).find((name) => name.endsWith('.deb'));
  if (file === undefined) throw new PartError(what, 'apt-get downloaded nothing', attempt);
  await must({ file: 'dpkg-deb', args: ['--extract', file, 'files'], env, cwd: scratch }, what, attempt);
  await copyFile(join(scratch, 'files', 'usr', 'bin', 'promtool'), join(target, 'promtool'));
  await chmod(join(target, 'promtool'), 0o755);
  await rm(scratch, { recursive: true });
}
