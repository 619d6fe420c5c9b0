import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { installMissing, requireRoot } from './debian.ts';
import { type BuildEnvironment, readEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { goBuild, type GoBuild } from './go-build.ts';
import { linkerFlags, moduleDirectory } from './kubernetes.ts';
import { versions } from './versions.ts';

/** The programs of a real node. Each is a directory on the PATH of the node's processes. */
export interface NodePrograms {
  /** kubelet, kube-proxy, and the testbed's own pause, device-plugin, dns. */
  readonly kubernetes: string;
  /** containerd, containerd-shim-runc-v2, ctr */
  readonly containerd: string;
  readonly runc: string;
}

const platform = `${process.platform}-${process.arch}`;
const needed = {
  '/sbin/ip': 'iproute2',
  '/sbin/mkfs.ext4': 'e2fsprogs',
  '/sbin/iptables': 'iptables',
  '/usr/lib/cni/ptp': 'containernetworking-plugins',
  '/usr/bin/gcc': 'gcc',
  '/usr/include/stdlib.h': 'libc6-dev',
  '/usr/include/seccomp.h': 'libseccomp-dev',
  '/usr/bin/pkg-config': 'pkg-config',
} as const;
const ownSources = ['pause', 'device-plugin', 'dns'];

/** Builds what is missing, and installs Debian packages; a clear error for users other than root. */
export async function obtainNodePrograms(onProgress: OnProgress): Promise<NodePrograms> {
  requireRoot('start real nodes');
  const environment = readEnvironment();
  await installMissing(needed, environment, onProgress);
  const go = await findGo(environment, onProgress);
  const built = (
    name: string,
    build: (target: string) => Omit<GoBuild, 'go' | 'failure' | 'attempt'>,
  ): Promise<string> =>
    cached(
      join(environment.cache, `${name}-${platform}`),
      (target) =>
        goBuild(
          {
            ...build(target),
            go,
            failure: `cannot build ${name}`,
            attempt: 'check the network (Go modules) and 4 GB of free disk, then start again',
          },
          onProgress,
        ),
      onProgress,
    );
  return {
    kubernetes: await built(`node-${versions.kubernetes}-${await keyOfModule()}`, (target) =>
      kubernetesBuild(environment, target),
    ),
    containerd: await built(`containerd-${versions.containerd}`, (target) => containerdBuild(environment, target)),
    runc: await built(`runc-${versions.runc}-seccomp`, (target) => runcBuild(environment, target)),
  };
}

async function keyOfModule(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', ...ownSources.map((name) => join(name, 'main.go'))])
    hash.update(await readFile(join(moduleDirectory, file)));
  return hash.digest('hex').slice(0, 12);
}

const kubernetesBuild = (environment: BuildEnvironment, target: string) =>
  ({
    title: `building kubelet and kube-proxy ${versions.kubernetes} (first start only: 2 to 4 minutes on two cores)`,
    verb: 'build',
    args: ['-mod=readonly', '-trimpath', `-ldflags=${linkerFlags()}`, '-o', `${target}/`],
    packages: [
      'k8s.io/kubernetes/cmd/kubelet',
      'k8s.io/kubernetes/cmd/kube-proxy',
      ...ownSources.map((name) => `./${name}`),
    ],
    env: environment.commands,
    cwd: moduleDirectory,
  }) as const;

const containerdBuild = (environment: BuildEnvironment, target: string) => {
  const commands = ['containerd', 'containerd-shim-runc-v2', 'ctr'];
  return {
    title: `building containerd ${versions.containerd} (first start only: 2 minutes on two cores)`,
    verb: 'install',
    args: ['-trimpath', '-ldflags=-s -w', '-tags=no_btrfs,no_zfs,no_devmapper'],
    packages: commands.map((name) => `github.com/containerd/containerd/v2/cmd/${name}@${versions.containerd}`),
    env: { ...environment.commands, GOBIN: target },
    cwd: target,
  } as const;
};

/** Its first steps inside a namespace are C. Containers get the runtime's default seccomp profile, so it needs libseccomp too. */
const runcBuild = (environment: BuildEnvironment, target: string) =>
  ({
    title: `building runc ${versions.runc} (first start only: 30 seconds)`,
    verb: 'install',
    args: ['-trimpath', '-ldflags=-s -w', '-tags=seccomp'],
    packages: [`github.com/opencontainers/runc@${versions.runc}`],
    env: { ...environment.commands, CGO_ENABLED: '1', GOBIN: target },
    cwd: target,
  }) as const;
