import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Affinity, V1Node } from '@kubernetes/client-node';
import type { Api } from './api.ts';
import { kubeletLabel } from './servers/kwok.ts';
import { until } from './until.ts';

export interface SimulatedNode {
  readonly name: string;
  readonly uid: string;
  /** The node's root directory, which an agent takes as --host-root. */
  readonly hostRoot: string;
}

/**
 * Node names: those of EKS, or short ones for a demo. Long names are the default because real clusters have them, and they reach limits of size first.
 */
export const nodeNames = {
  cloud: (index: number): string =>
    `ip-10-123-${Math.floor(index / 100)}-${100 + (index % 100)}.us-west-2.compute.internal`,
  short: (index: number): string => `gpu-${index}`,
} as const satisfies Record<string, (index: number) => string>;
export type NodeNames = keyof typeof nodeNames;

/** For pods that need real containers. */
export const realNodesOnly: V1Affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'type', operator: 'NotIn', values: ['kwok'] }] }],
    },
  },
};

export interface SimulatedNodesOptions {
  readonly directory: string;
  readonly count: number;
  readonly gpus: number;
  readonly names: NodeNames;
}

/** Files of a node, relative to its root. */
export const kernelLog = join('dev', 'kmsg');
export const bootIdFile = join('proc', 'sys', 'kernel', 'random', 'boot_id');

/** Creates the nodes and waits until all of them are Ready. */
export async function createNodes(
  api: Api,
  { directory, count, gpus, names }: SimulatedNodesOptions,
): Promise<SimulatedNode[]> {
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, index) => createNode(api, directory, nodeNames[names](index), gpus)),
  );
  await until(`${count} nodes Ready`, 60_000, async () => {
    const { items } = await api.core.listNode();
    const waiting = items.filter((node) => !isReady(node)).map((node) => node.metadata?.name);
    return waiting.length === 0
      ? { found: true }
      : { missing: `${waiting.length} not Ready, among them ${waiting[0]}` };
  });
  return nodes;
}

async function createNode(api: Api, directory: string, name: string, gpus: number): Promise<SimulatedNode> {
  const bootId = randomUUID();
  const hostRoot = createHostRoot(join(directory, 'nodes', name), bootId);
  const { metadata } = await api.core.createNode({ body: manifest(name, gpus, bootId) });
  return { name, uid: metadata?.uid ?? '', hostRoot };
}

function createHostRoot(root: string, bootId: string): string {
  for (const part of ['dev', 'proc/sys/kernel/random', 'var/lib/kcover/preflight', 'var/lib/kcover/progress'])
    mkdirSync(join(root, part), { recursive: true });
  writeFileSync(join(root, kernelLog), '');
  writeFileSync(join(root, bootIdFile), `${bootId}\n`);
  return root;
}

function manifest(name: string, gpus: number, bootID: string): V1Node {
  const resources = {
    cpu: '192',
    memory: '2Ti',
    'ephemeral-storage': '4Ti',
    pods: '110',
    'nvidia.com/gpu': String(gpus),
  };
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'nvidia.com/gpu.present': 'true',
        'nvidia.com/gpu.count': String(gpus),
        'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3',
        type: 'kwok',
        [kubeletLabel.key]: kubeletLabel.value,
      },
    },
    status: {
      capacity: resources,
      allocatable: resources,
      nodeInfo: {
        bootID,
        machineID: randomUUID().replaceAll('-', ''),
        systemUUID: randomUUID(),
        architecture: 'amd64',
        operatingSystem: 'linux',
        osImage: 'kcover testbed',
        kernelVersion: '6.12.0-testbed',
        kubeletVersion: 'v1.36.3',
        kubeProxyVersion: '',
        containerRuntimeVersion: 'kwok://0.8.0',
      },
    },
  };
}

/** Ready, and the node controller has removed its not-ready taint. */
export function isReady(node: V1Node): boolean {
  const ready = node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  return ready && !node.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready');
}
