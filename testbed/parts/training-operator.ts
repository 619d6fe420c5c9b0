import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { goBuild } from './go-build.ts';
import { versions } from './versions.ts';

export interface TrainingOperatorProgram {
  readonly trainingOperator: string;
  /** Directory with one JSON file for each CustomResourceDefinition. */
  readonly customResourceDefinitions: string;
}

const module = `github.com/kubeflow/training-operator`;

export async function trainingOperatorProgram(
  environment: BuildEnvironment,
  onProgress: OnProgress,
): Promise<TrainingOperatorProgram> {
  const directory = await cached(
    join(environment.cache, `training-operator-${versions.trainingOperator}-${process.platform}-${process.arch}`),
    (target) => build(environment, target, onProgress),
    onProgress,
  );
  return { trainingOperator: join(directory, 'training-operator'), customResourceDefinitions: join(directory, 'crds') };
}

async function build(environment: BuildEnvironment, target: string, onProgress: OnProgress): Promise<void> {
  const go = await findGo(environment, onProgress);
  const env = { ...environment.commands, GOBIN: target };
  const attempt = 'check the network (Go modules) and 3 GB of free disk, then start again';
  await goBuild(
    {
      title: `building training-operator ${versions.trainingOperator} (first start only)`,
      go,
      verb: 'install',
      args: ['-trimpath', '-ldflags=-s -w'],
      packages: [`${module}/cmd/training-operator.v1@${versions.trainingOperator}`],
      env,
      cwd: target,
      failure: 'cannot build the training operator',
      attempt,
    },
    onProgress,
  );
  await rename(join(target, 'training-operator.v1'), join(target, 'training-operator'));

  const download = ['mod', 'download', '-json', `${module}@${versions.trainingOperator}`];
  const answer = JSON.parse(
    await must(
      { file: go, args: download, env, cwd: target },
      'cannot find the manifests of the training operator',
      attempt,
    ),
  ) as {
    Dir: string;
  };
  await keepDefinitions(join(answer.Dir, 'manifests', 'base', 'crds'), join(target, 'crds'));
}

/** Stores the definitions as JSON: parsing 40,000 lines of YAML would take seconds at every start. */
async function keepDefinitions(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const file of await readdir(from)) {
    // MXJob is not among the schemes that the operator is started with.
    if (!file.startsWith('kubeflow.org_') || file.includes('mxjobs')) continue;
    const definition: unknown = parse(await readFile(join(from, file), 'utf8'));
    await writeFile(join(to, file.replace(/\.yaml$/, '.json')), JSON.stringify(definition));
  }
}
