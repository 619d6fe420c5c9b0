import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { goBuild } from './go-build.ts';
import { versions } from './versions.ts';

/** Paths of each controller, its definitions and its webhooks in its Go module. */
const controllers = {
  lws: {
    module: `sigs.k8s.io/lws@${versions.lws}`,
    program: './cmd',
    manifests: ['config/crd/bases', 'config/webhook/manifests.yaml'],
  },
  // The definition is omitted because every test cluster has it.
  jobset: {
    module: `sigs.k8s.io/jobset@${versions.jobset}`,
    program: '.',
    manifests: ['config/components/webhook/manifests.yaml'],
  },
  'mpi-operator': {
    module: `github.com/kubeflow/mpi-operator@${versions.mpiOperator}`,
    program: './cmd/mpi-operator',
    manifests: ['manifests/base/kubeflow.org_mpijobs.yaml'],
  },
  kuberay: {
    module: `github.com/ray-project/kuberay/ray-operator@${versions.kuberay}`,
    program: '.',
    manifests: ['config/crd/bases'],
  },
  kueue: {
    module: `sigs.k8s.io/kueue@${versions.kueue}`,
    program: './cmd/kueue',
    manifests: ['config/components/crd/bases', 'config/components/webhook/manifests.yaml'],
  },
  // Every test cluster has the definition of TrainJob too.
  trainer: {
    module: `github.com/kubeflow/trainer/v2@${versions.trainer}`,
    program: './cmd/trainer-controller-manager',
    manifests: [
      'manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml',
      'manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml',
      'manifests/base/webhook/manifests.yaml',
    ],
  },
} as const;

export type JobController = keyof typeof controllers;

export interface JobControllerProgram {
  readonly program: string;
  /** JSON file: a list of definitions and webhook configurations. */
  readonly manifests: string;
}

/** Builds one job controller in the directory of its module: with an explicit version Go would ask for versions that a mirror may not list. */
export async function jobControllerProgram(
  name: JobController,
  environment: BuildEnvironment,
  onProgress: OnProgress,
): Promise<JobControllerProgram> {
  const [, version] = controllers[name].module.split('@');
  const directory = await cached(
    join(environment.cache, `${name}-${version}-${process.platform}-${process.arch}`),
    (target) => build(name, environment, target, onProgress),
    onProgress,
  );
  return { program: join(directory, name), manifests: join(directory, 'manifests.json') };
}

async function build(
  name: JobController,
  environment: BuildEnvironment,
  target: string,
  onProgress: OnProgress,
): Promise<void> {
  const { module, program, manifests } = controllers[name];
  const go = await findGo(environment, onProgress);
  const env = environment.commands;
  const attempt = 'check the network (Go modules) and 3 GB of free disk, then start again';
  const answer = await must(
    { file: go, args: ['mod', 'download', '-json', module], env, cwd: target },
    `cannot find ${module}`,
    attempt,
  );
  const { Dir: cwd } = JSON.parse(answer) as { Dir: string };
  await goBuild(
    {
      title: `building ${module} (first start only: 1 to 5 minutes)`,
      go,
      verb: 'build',
      args: ['-trimpath', '-ldflags=-s -w', '-o', join(target, name)],
      packages: [program],
      env,
      cwd,
      failure: `cannot build ${name}`,
      attempt,
    },
    onProgress,
  );
  const objects = (await Promise.all(manifests.map((path) => objectsAt(join(cwd, path))))).flat();
  await writeFile(join(target, 'manifests.json'), JSON.stringify(objects));
}

/** The objects in a file, or in those of a directory. */
async function objectsAt(path: string): Promise<unknown[]> {
  const files = path.endsWith('.yaml') ? [path] : (await readdir(path)).map((name) => join(path, name));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as unknown)).filter(Boolean);
}
