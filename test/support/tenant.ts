/** A tenant who may create pods in one namespace, with arbitrary content. */

import { randomUUID } from 'node:crypto';
import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import { preflightContainer } from '../../contract/preflight/preflight.ts';
import type { Api } from '../../testbed/api.ts';
import { endTest, type Tester, writeReport } from '../../testbed/preflight.ts';
import { measure } from '../../testbed/preflight-measures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { until } from '../../testbed/until.ts';

export interface ForgedPod {
  readonly owner: Pick<V1OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>;
  readonly node: SimulatedNode;
  /** In addition to those of a pod that tests its node. */
  readonly labels: Readonly<Record<string, string>>;
}

function unlessGone(error: { readonly code?: number }): undefined {
  if (error.code !== 404) throw error;
}

export class Tenant {
  readonly namespace = `tenant-${randomUUID().slice(0, 8)}`;
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  async arrive(): Promise<void> {
    await this.#api.core.createNamespace({ body: { metadata: { name: this.namespace } } });
  }

  /**
   * A pod without any GPU on the node in its own spec, past the scheduler; resolves when its preflight container runs. A pod whose owner does not
   * exist may be deleted before: undefined then.
   */
  async pod({ owner, node, labels: worn }: ForgedPod): Promise<V1Pod | undefined> {
    const name = `p-${randomUUID().slice(0, 8)}`;
    const image = 'registry.k8s.io/pause:3.10';
    const body: V1Pod = {
      metadata: {
        name,
        labels: { [labels.preflight]: 'true', ...worn },
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: {
        nodeName: node.name,
        serviceAccountName: 'default',
        initContainers: [{ name: preflightContainer, image }],
        containers: [{ name: 'idle', image }],
      },
    };
    await this.#api.core.createNamespacedPod({ namespace: this.namespace, body });
    return until(`${name} tests`, 60_000, async () => {
      const pod = await this.#api.core.readNamespacedPod({ namespace: this.namespace, name }).catch(unlessGone);
      if (!pod) return { found: undefined };
      return pod.status?.initContainerStatuses?.[0]?.state?.running
        ? { found: pod }
        : { missing: pod.status?.phase ?? 'no phase' };
    });
  }

  /** Each of the pods reports that the GPUs of its node are broken, as the rank at its place in the list, and ends its test. */
  async reportBrokenGpus(workload: string, pods: readonly V1Pod[], nodes: readonly SimulatedNode[]): Promise<void> {
    const on = pods.map(({ spec, status }) => ({ node: spec?.nodeName ?? '', address: status?.podIP ?? '' }));
    const reports = measure(workload, on, { failed: Object.fromEntries(on.map(({ node }) => [node, 'gpu'])) });
    for (const [rank, pod] of pods.entries()) {
      const tester: Pick<Tester, 'rank' | 'hostRoot' | 'pod'> = {
        rank,
        pod,
        hostRoot: nodes.find(({ name }) => name === on[rank]?.node)?.hostRoot ?? '',
      };
      await writeReport({ namespace: this.namespace, name: workload }, tester, reports[rank] ?? '');
      await endTest(this.#api, tester, 1);
    }
  }

  async leave(): Promise<void> {
    await this.#api.core.deleteCollectionNamespacedPod({ namespace: this.namespace });
    await until(`pods of ${this.namespace} gone`, 60_000, async () => {
      const { items } = await this.#api.core.listNamespacedPod({ namespace: this.namespace });
      return items.length === 0 ? { found: true } : { missing: `${items.length} left` };
    });
  }
}
