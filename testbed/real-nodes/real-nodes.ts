import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from '../api.ts';
import { type ApiAddress, writeKubeconfig } from '../kubeconfig.ts';
import { isReady } from '../nodes.ts';
import { pauseImage } from '../parts/images.ts';
import type { NodePrograms } from '../parts/node-programs.ts';
import { until } from '../until.ts';
import { createNodeGroup } from './cgroups.ts';
import { containerd, pauseImage as pauseName } from './containerd.ts';
import { dns } from './dns.ts';
import { createDevices, gpuResource } from './devices.ts';
import type { Ground } from './ground.ts';
import { kubeProxy } from './kube-proxy.ts';
import { kubelet } from './kubelet.ts';
import { createMachine } from './machine.ts';
import { type RealNode, startRealNode } from './real-node.ts';

export interface RealNodesOptions {
  readonly directory: string;
  readonly programs: NodePrograms;
  readonly ground: Ground;
  readonly apiAddress: ApiAddress;
  readonly api: Api;
  readonly count: number;
  readonly gpus: number;
  /** Containers of the first node see the kernel log of the host. */
  readonly realKernelLog: boolean;
  /** Added to the configuration of every kubelet. */
  readonly kubelet: Readonly<Record<string, unknown>>;
  readonly dnsPort: number;
}

type KubeconfigOf = (name: string, user: string, organization?: string) => Promise<string>;

/** Starts the nodes and their DNS, and waits until all of them are Ready with their GPUs. */
export async function startRealNodes(options: RealNodesOptions): Promise<RealNode[]> {
  const { directory, programs, ground, apiAddress, api, count, gpus, dnsPort } = options;
  mkdirSync(join(directory, 'real-nodes'));
  const kubeconfigOf: KubeconfigOf = async (name, user, organization) => {
    const proof = await ground.authority.issue(name, {
      name: user,
      ...(organization !== undefined && { organization }),
    });
    return writeKubeconfig({ ...apiAddress, ...proof, user, file: join(directory, `${name}.kubeconfig`) });
  };
  const names = dns({
    program: join(programs.kubernetes, 'dns'),
    directory,
    address: ground.network.host,
    port: dnsPort,
    kubeconfig: await kubeconfigOf('dns', 'dns', 'system:masters'),
  });
  const pause = await pauseImage(join(directory, 'real-nodes'), programs.kubernetes, pauseName);
  const proxy = await kubeconfigOf('kube-proxy', 'system:kube-proxy');
  const starting = Array.from({ length: count }, (_, index) =>
    startOne(options, index, { pause, proxy, kubeconfigOf }),
  );
  const [nodes] = await Promise.all([Promise.all(starting), names.start()]);
  await awaitReady(api, nodes, gpus);
  return nodes;
}

async function startOne(
  { directory, programs, ground, count, gpus, realKernelLog, kubelet: configuration }: RealNodesOptions,
  index: number,
  {
    pause,
    proxy,
    kubeconfigOf,
  }: { readonly pause: string; readonly proxy: string; readonly kubeconfigOf: KubeconfigOf },
): Promise<RealNode> {
  const { network, authority } = ground;
  const machine = createMachine(directory, `real-${index}`, programs);
  const address = network.addressOf(index);
  const ownLog = !(realKernelLog && index === 0);
  return startRealNode({
    machine,
    network,
    index,
    count,
    images: [pause],
    ownLog,
    containerd: containerd(machine, { pods: network.podsOf(index), ownLog }),
    kubelet: kubelet(machine, {
      address,
      kubeconfig: await kubeconfigOf(machine.name, `system:node:${machine.name}`, 'system:nodes'),
      authority: authority.file,
      serving: await authority.issue(`${machine.name}-serving`, { name: machine.name, addresses: [address] }),
      cgroup: createNodeGroup(directory, machine.name),
      dns: network.host,
      configuration,
      labels: {
        'nvidia.com/gpu.present': 'true',
        'nvidia.com/gpu.count': String(gpus),
        'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3',
      },
    }),
    kubeProxy: kubeProxy(machine, { address, kubeconfig: proxy, pods: network.pods }),
    devices: createDevices(machine, gpus),
  });
}

function awaitReady(api: Api, nodes: readonly RealNode[], gpus: number): Promise<true> {
  return until(`${nodes.length} real nodes Ready with their GPUs`, 120_000, async () => {
    for (const { name } of nodes) {
      const node = await api.core.readNode({ name });
      if (!isReady(node)) return { missing: `${name} is not Ready` };
      if (node.status?.allocatable?.[gpuResource] !== String(gpus)) return { missing: `the GPUs of ${name}` };
    }
    return { found: true };
  });
}
