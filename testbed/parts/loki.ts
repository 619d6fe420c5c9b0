import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { goBuild } from './go-build.ts';
import { versions } from './versions.ts';

const module = `github.com/grafana/loki/v3@${versions.loki}`;
/** A module of its own in a directory that Loki's module does not contain. */
const pushModule = 'github.com/grafana/loki/pkg/push';

/** Path of the `loki` program, built from its Go modules. */
export async function lokiProgram(environment: BuildEnvironment, onProgress: OnProgress): Promise<string> {
  const directory = await cached(
    join(environment.cache, `loki-${versions.loki}-${process.platform}-${process.arch}`),
    (target) => build(environment, target, onProgress),
    onProgress,
  );
  return join(directory, 'loki');
}

/** `go install` refuses Loki because of its replace directives, so it is built in the directory of its module, with a `go.mod` beside the program. */
async function build(environment: BuildEnvironment, target: string, onProgress: OnProgress): Promise<void> {
  const go = await findGo(environment, onProgress);
  const env = environment.commands;
  const attempt = 'check the network (Go modules) and 6 GB of free disk, then start again';
  const failure = `cannot build Loki ${versions.loki}`;
  const answer = await must(
    { file: go, args: ['mod', 'download', '-json', module], env, cwd: target },
    `cannot find ${module}`,
    attempt,
  );
  const { Dir: cwd } = JSON.parse(answer) as { Dir: string };
  for (const name of ['go.mod', 'go.sum']) {
    await copyFile(join(cwd, name), join(target, name));
    // Files in the module cache are read-only.
    await chmod(join(target, name), 0o644);
  }
  const modfile = join(target, 'go.mod');
  await must({ file: go, args: ['mod', 'edit', `-dropreplace=${pushModule}`, modfile], env, cwd }, failure, attempt);
  await goBuild(
    {
      title: `building Loki ${versions.loki} (first start only: 7 to 15 minutes)`,
      go,
      verb: 'build',
      args: ['-trimpath', '-ldflags=-s -w', '-mod=mod', `-modfile=${modfile}`, '-o', join(target, 'loki')],
      packages: ['./cmd/loki'],
      env,
      cwd,
      failure,
      attempt,
    },
    onProgress,
  );
}
