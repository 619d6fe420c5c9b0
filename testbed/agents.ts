import type { V1DaemonSet, V1Pod } from '@kubernetes/client-node';
import { agentNamespace } from '../kube/permissions.ts';
import type { Api } from './api.ts';
import { realNodesOnly, type SimulatedNode } from './nodes.ts';
import { pauseImage } from './real-nodes/containerd.ts';
import { podToken } from './tokens.ts';
import { until } from './until.ts';

export { agentNamespace };
export const agentAccount = 'kcover-agent';
export const agentAudience = 'kcover-controller';

/** Simulated or real. `fileOf`: a path on the disk of the node, where that is another than `hostRoot`. */
export type AgentNode = Pick<SimulatedNode, 'name' | 'hostRoot'> & { readonly fileOf?: (path: string) => string };

const labels = { 'app.kubernetes.io/name': 'kcover', 'app.kubernetes.io/component': 'agent' };

/** Creates the agents' namespace, account and DaemonSet and waits for one ready pod on each node. Safe to repeat. */
export async function deployAgents(api: Api, nodes: readonly SimulatedNode[]): Promise<void> {
  await unlessThere(api.core.createNamespace({ body: { metadata: { name: agentNamespace } } }));
  await unlessThere(
    api.core.createNamespacedServiceAccount({ namespace: agentNamespace, body: { metadata: { name: agentAccount } } }),
  );
  await unlessThere(api.apps.createNamespacedDaemonSet({ namespace: agentNamespace, body: daemonSet }));
  await Promise.all(nodes.map((node) => agentPod(api, node)));
}

/** The same for real nodes. Their agents are processes of this machine too: the pod exists for its token, and its container only sleeps. */
export async function deployAgentsOnRealNodes(api: Api, nodes: readonly AgentNode[]): Promise<void> {
  await unlessThere(api.apps.createNamespacedDaemonSet({ namespace: agentNamespace, body: realDaemonSet }));
  await Promise.all(nodes.map((node) => agentPod(api, node)));
}

/** The ready agent pod of a node; waits for it. */
export function agentPod(api: Api, node: Pick<AgentNode, 'name'>): Promise<V1Pod> {
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  return until(`agent pod on ${node.name}`, 60_000, async () => {
    const { items } = await api.core.listNamespacedPod({
      namespace: agentNamespace,
      labelSelector,
      fieldSelector: `spec.nodeName=${node.name}`,
    });
    const pod = items.find(
      ({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running',
    );
    return pod === undefined ? { missing: `${items.length} pods there, none running` } : { found: pod };
  });
}

/** The token that the agent on this node would find in its projected volume. */
export async function agentToken(api: Api, node: Pick<AgentNode, 'name'>): Promise<string> {
  const { metadata } = await agentPod(api, node);
  const pod = { namespace: agentNamespace, name: metadata?.name ?? '', uid: metadata?.uid ?? '' };
  return podToken(api, pod, agentAccount, agentAudience);
}

const daemonSet: V1DaemonSet = {
  metadata: { name: agentAccount, namespace: agentNamespace, labels },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: agentAccount,
        // The image does not exist, and only simulated kubelets run a pod without its image.
        nodeSelector: { 'nvidia.com/gpu.present': 'true', type: 'kwok' },
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'agent', image: 'kcover:testbed' }],
      },
    },
  },
};

const onRealNodes = { ...labels, 'testbed.kcover.io/nodes': 'real' };

const realDaemonSet: V1DaemonSet = {
  metadata: { name: `${agentAccount}-real`, namespace: agentNamespace, labels: onRealNodes },
  spec: {
    selector: { matchLabels: onRealNodes },
    template: {
      metadata: { labels: onRealNodes },
      spec: {
        serviceAccountName: agentAccount,
        affinity: realNodesOnly,
        // A kubelet under pressure evicts no such pod, and with the pod its token would end.
        priorityClassName: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'agent', image: pauseImage, imagePullPolicy: 'Never' }],
      },
    },
  },
};

async function unlessThere(creating: Promise<unknown>): Promise<void> {
  await creating.catch((error: { readonly code?: number }) => {
    if (error.code !== 409) throw error;
  });
}
