import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../servers/server.ts';
import { kernelLogOf, type NodeMachine } from './machine.ts';

export const pauseImage = 'localhost/pause:1';
export const containerdSocket = '/run/containerd/containerd.sock';

export interface ContainerdOptions {
  /** Subnet of the pods of this machine. */
  readonly pods: string;
  /** Containers see a file of this machine instead of the kernel log that all machines share. */
  readonly ownLog: boolean;
}

export function containerd(machine: NodeMachine, { pods, ownLog }: ContainerdOptions): Server {
  const config = join(machine.disk, 'containerd.toml');
  const networks = join(machine.disk, 'cni');
  mkdirSync(networks, { recursive: true });
  writeFileSync(join(networks, '10-pods.conflist'), JSON.stringify(podNetwork(pods), null, 2));
  writeFileSync(config, configuration(networks));
  const daemon = ['containerd', '--config', config];
  // In a mount namespace of its own that receives the machine's mounts: the kubelet must find a device there, as a hostPath of type CharDevice requires.
  const withOwnLog = [
    'unshare',
    '--mount',
    '--propagation',
    'slave',
    'sh',
    '-c',
    'mount --bind "$0" /dev/kmsg && exec "$@"',
    kernelLogOf(machine.disk),
  ];
  return machine.daemon({
    name: 'containerd',
    command: ownLog ? [...withOwnLog, ...daemon] : daemon,
    before: async () => rmSync(machine.fileOf(containerdSocket), { force: true }),
    missing: async () => (existsSync(machine.fileOf(containerdSocket)) ? undefined : `its socket ${containerdSocket}`),
  });
}

/** Each pod is connected by its own veth pair; the machine routes. */
const podNetwork = (subnet: string) => ({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    { type: 'ptp', ipam: { type: 'host-local', ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] } },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

const configuration = (networks: string): string => `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "${containerdSocket}"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${pauseImage}"
[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE no sandbox could start otherwise.
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = "runc"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${networks}"
`;
