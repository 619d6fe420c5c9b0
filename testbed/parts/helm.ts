import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { goBuild } from './go-build.ts';
import { versions } from './versions.ts';

/** Path of the `helm` program, built from its Go module. Only tests need it; a test cluster does without. */
export async function helmProgram(environment: BuildEnvironment, onProgress: OnProgress): Promise<string> {
  const directory = await cached(
    join(environment.cache, `helm-${versions.helm}-${process.platform}-${process.arch}`),
    (target) => build(environment, target, onProgress),
    onProgress,
  );
  return join(directory, 'helm');
}

async function build(environment: BuildEnvironment, target: string, onProgress: OnProgress): Promise<void> {
  const go = await findGo(environment, onProgress);
  await goBuild(
    {
      title: `building helm ${versions.helm} (first start only: 2 to 3 minutes)`,
      go,
      verb: 'install',
      args: ['-trimpath', '-ldflags=-s -w'],
      packages: [`helm.sh/helm/v4/cmd/helm@${versions.helm}`],
      env: { ...environment.commands, GOBIN: target },
      cwd: target,
      failure: 'cannot build helm',
      attempt: 'check the network (Go modules) and 3 GB of free disk, then start again',
    },
    onProgress,
  );
}
