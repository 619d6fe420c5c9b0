import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../servers/server.ts';
import type { Devices } from './devices.ts';
import { childOf, kernelLogOf, type NodeMachine } from './machine.ts';
import type { Network } from './network.ts';

/** A node with a kubelet, a containerd and a kube-proxy of its own. A killed daemon stays dead until it is started, or the node boots. */
export interface RealNode {
  readonly name: string;
  readonly address: string;
  /** The node's root as its containers mount it, which an agent takes as --host-root. It changes when containerd is restarted. */
  readonly hostRoot: string;
  readonly kubelet: Server;
  readonly containerd: Server;
  readonly kubeProxy: Server;
  readonly devices: Devices;
  /** Imports an image from its archive (`docker save`). There is no registry: pods use imagePullPolicy Never or IfNotPresent. */
  importImage(archive: string): Promise<void>;
  /** Writes a kernel log line. */
  kernelLog(line: string): void;
  /** Host path of a path of the node while the node is on. */
  fileOf(path: string): string;
  /** Fills the node's own file system of /var/lib/kcover, or frees it again. */
  fillState(): Promise<void>;
  freeState(): Promise<void>;
  cutNetwork(): Promise<void>;
  restoreNetwork(): Promise<void>;
  /** Power off and on: every process ends at once, and only the disk is kept. */
  reboot(): Promise<void>;
  /** Runs a program on the node, in its namespaces, and returns what it printed. */
  run(...command: readonly string[]): Promise<string>;
}

export interface RealNodeParts {
  readonly machine: NodeMachine;
  readonly network: Network;
  readonly index: number;
  readonly count: number;
  readonly kubelet: Server;
  readonly containerd: Server;
  readonly kubeProxy: Server;
  readonly devices: Devices;
  /** Archives of the images that a node has from the start. */
  readonly images: readonly string[];
  /** Its kernel log is a file, not the one of the host. */
  readonly ownLog: boolean;
}

const filler = '/var/lib/kcover/filler';
// A large write that does not fit leaves some blocks free; small ones use them up too.
const fill = 'cat /dev/zero >"$0"; dd if=/dev/zero of="$0" bs=512 oflag=append conv=notrunc; true';

/** Starts the parts and returns the node when its daemons are ready; the API server may see it a moment later. */
export async function startRealNode(parts: RealNodeParts): Promise<RealNode> {
  const { machine, network, index, count, kubelet, containerd, kubeProxy, devices, images, ownLog } = parts;
  const daemons = [kubelet, containerd, kubeProxy, devices.plugin];
  const importImage = async (archive: string): Promise<void> =>
    void (await machine.run('ctr', '--namespace', 'k8s.io', 'images', 'import', archive));
  const powerOn = async (): Promise<void> => {
    await machine.powerOn();
    await network.attach(index, count, machine.firstProcess());
    await containerd.start();
    for (const archive of images) await importImage(archive);
    await Promise.all([kubelet.start(), kubeProxy.start(), devices.plugin.start()]);
  };
  await powerOn();
  return {
    name: machine.name,
    address: network.addressOf(index),
    get hostRoot() {
      return join('/proc', String(childOf(containerd.pid)), 'root');
    },
    kubelet,
    containerd,
    kubeProxy,
    devices,
    importImage,
    kernelLog: (line) => appendFileSync(ownLog ? kernelLogOf(machine.disk) : '/dev/kmsg', `${line}\n`),
    fileOf: machine.fileOf,
    fillState: async () => void (await machine.run('sh', '-c', fill, filler)),
    freeState: async () => void (await machine.run('rm', filler)),
    cutNetwork: () => network.setCable(index, 'down'),
    restoreNetwork: () => network.setCable(index, 'up'),
    reboot: async () => {
      await Promise.all(daemons.map((each) => each.kill('SIGKILL')));
      await machine.powerOff();
      await network.detach(index);
      machine.renewBootId();
      await powerOn();
    },
    run: machine.run,
  };
}
