import { join } from 'node:path';
import { cached, withProgress, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import type { Environment } from './environment.ts';
import { findGo } from './go.ts';
import { versions } from './versions.ts';

/** Path of the `helm` program, built from its Go module. Only tests need it; a world does without. */
export async function helmProgram(environment: Environment, onProgress: OnProgress): Promise<string> {
  const directory = await cached(
    join(environment.cache, `helm-${versions.helm}-${process.platform}-${process.arch}`),
    (target) => withProgress(`building helm ${versions.helm} (first start only: 2 to 3 minutes)`, onProgress, () => build(environment, target, onProgress)),
    onProgress,
  );
  return join(directory, 'helm');
}

async function build(environment: Environment, target: string, onProgress: OnProgress): Promise<void> {
  const go = await findGo(environment, onProgress);
  const args = ['install', '-trimpath', '-ldflags=-s -w', `helm.sh/helm/v4/cmd/helm@${versions.helm}`];
  await must(
    { file: go, args, env: { ...environment.commands, GOBIN: target }, cwd: target },
    'cannot build helm',
    'check the network (Go modules) and 3 GB of free disk, then start again',
  );
}
