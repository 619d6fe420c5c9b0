/** Nodes reserved for one scenario: only there can capacity be short independently of the other scenarios. */

import { type Api, merge } from '../../testbed/api.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';

/** For `nodeSelector`. */
export type Selector = Readonly<Record<string, string>>;

export interface Pools {
  /** Runs the task with a free pool; waits until one is free. */
  withPool<T>(task: (selector: Selector) => Promise<T>): Promise<T>;
}

const key = 'testbed.kcover.io/pool';

/** Labels the nodes, which no other pods may need. */
export async function openPools(api: Api, groups: readonly (readonly SimulatedNode[])[]): Promise<Pools> {
  const free = await Promise.all(groups.map((nodes, index) => poolOf(api, `pool-${index}`, nodes)));
  const waiting: ((selector: Selector) => void)[] = [];
  const take = (): Promise<Selector> => {
    const selector = free.pop();
    return selector ? Promise.resolve(selector) : new Promise((resolve) => waiting.push(resolve));
  };
  return {
    withPool: async (task) => {
      const selector = await take();
      try {
        return await task(selector);
      } finally {
        const next = waiting.shift();
        if (next) next(selector);
        else free.push(selector);
      }
    },
  };
}

/** Labels these nodes, and returns the node selector for pods. */
export async function poolOf(api: Api, name: string, nodes: readonly SimulatedNode[]): Promise<Selector> {
  const body = { metadata: { labels: { [key]: name } } };
  await Promise.all(nodes.map((node) => api.core.patchNode({ name: node.name, body }, merge)));
  return { [key]: name };
}
