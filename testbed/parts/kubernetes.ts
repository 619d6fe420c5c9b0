import { createHash } from 'node:crypto';
import { access, constants, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { PartError } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { goBuild } from './go-build.ts';
import { versions } from './versions.ts';

/** The Kubernetes control plane and kwok, built from one Go module (parts/go). */
export interface KubernetesPrograms {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
  readonly kubeScheduler: string;
  readonly kwok: string;
}

export const moduleDirectory = join(import.meta.dirname, 'go');
const always = [
  'k8s.io/kubernetes/cmd/kube-controller-manager',
  'k8s.io/kubernetes/cmd/kube-scheduler',
  'sigs.k8s.io/kwok/cmd/kwok',
];
const unlessBrought = ['k8s.io/kubernetes/cmd/kube-apiserver', 'go.etcd.io/etcd/server/v3'];

export async function kubernetesPrograms(
  environment: BuildEnvironment,
  onProgress: OnProgress,
): Promise<KubernetesPrograms> {
  const brought = environment.kubebuilderAssets;
  if (brought !== undefined) await assertExecutable(brought, ['etcd', 'kube-apiserver']);
  const packages = brought === undefined ? [...always, ...unlessBrought] : always;
  const sums = await readFile(join(moduleDirectory, 'go.sum'));
  const key = createHash('sha256')
    .update(await readFile(join(moduleDirectory, 'go.mod')))
    .update(sums)
    .update(packages.join())
    .digest('hex')
    .slice(0, 12);
  const built = await cached(
    join(
      environment.cache,
      `kubernetes-${versions.kubernetes}-kwok-${versions.kwok}-${process.platform}-${process.arch}-${key}`,
    ),
    (directory) => build(environment, packages, directory, onProgress),
    onProgress,
  );
  const server = brought ?? built;
  return {
    etcd: join(server, 'etcd'),
    kubeApiserver: join(server, 'kube-apiserver'),
    kubeControllerManager: join(built, 'kube-controller-manager'),
    kubeScheduler: join(built, 'kube-scheduler'),
    kwok: join(built, 'kwok'),
  };
}

async function build(
  environment: BuildEnvironment,
  packages: readonly string[],
  directory: string,
  onProgress: OnProgress,
): Promise<void> {
  const go = await findGo(environment, onProgress);
  await goBuild(
    {
      title: `building Kubernetes ${versions.kubernetes} and kwok ${versions.kwok} (first start only: 5 to 8 minutes on two cores)`,
      go,
      verb: 'build',
      args: ['-mod=readonly', '-trimpath', `-ldflags=${linkerFlags()}`, '-o', `${directory}/`],
      packages,
      env: environment.commands,
      cwd: moduleDirectory,
      failure: 'cannot build the Kubernetes control plane',
      attempt:
        'check the network (Go modules) and 4 GB of free disk, or bring etcd and kube-apiserver with KUBEBUILDER_ASSETS',
    },
    onProgress,
  );
  // The package's path ends in server/v3, so Go names the program `server`.
  if (packages.includes('go.etcd.io/etcd/server/v3')) await rename(join(directory, 'server'), join(directory, 'etcd'));
}

/** Without these the server calls itself v0.0.0-master, which strict clients cannot parse. */
export function linkerFlags(): string {
  const [major, minor] = versions.kubernetes.slice(1).split('.');
  const stamps = { gitVersion: versions.kubernetes, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return [
    '-s',
    '-w',
    ...Object.entries(stamps).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  ].join(' ');
}

async function assertExecutable(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await access(join(directory, name), constants.X_OK).catch((cause: unknown) => {
      throw new PartError(
        `cannot use KUBEBUILDER_ASSETS=${directory}`,
        `${name} is not there or not executable`,
        'point it to a directory with etcd and kube-apiserver, or unset it',
        { cause },
      );
    });
  }
}
