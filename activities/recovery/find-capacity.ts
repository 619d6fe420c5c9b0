/** Looks for capacity for the next attempt of a job. A cluster may have very many pods: only those of candidate nodes are listed, and only as many as needed. */

import type { NodeCapacity } from '../../contract/recovery/placement.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';
import { type BoundPod, podsOnNodes, readNodes, type WantedCapacity, withLoads } from '../../kube/capacity.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { candidatesFor, capacityOf } from '../../policy/capacity/placement.ts';
import { createBatcher, coalesce } from '../batcher.ts';

export interface CapacitySource {
  /** Every node, with its capacity as if it were empty. */
  readonly nodes: () => Promise<readonly NodeCapacity[]>;
  /** Pods of these nodes, and possibly of others. */
  readonly podsOn: (names: readonly string[]) => Promise<readonly BoundPod[]>;
}

/** Many jobs may lack capacity at the same time: they share their looks. */
export function sharedCapacitySource(kube: Kube): CapacitySource {
  return {
    nodes: coalesce(() => readNodes(kube)),
    podsOn: createBatcher(async (asked: readonly (readonly string[])[]) => {
      const pods = await podsOnNodes(kube, [...new Set(asked.flat())]);
      return asked.map(() => pods);
    }),
  };
}

/** Nodes whose pods are listed first; twice as many each time until the whole attempt fits. */
const firstNodes = 100;

export async function findCapacity(
  { nodes, podsOn }: CapacitySource,
  wanted: WantedCapacity,
  standbyTaint: string,
): Promise<CapacityFacts> {
  const { shapes, sizes } = wanted;
  const all = await nodes();
  const candidates = candidatesFor(all, shapes, standbyTaint);
  const chosen = new Set(candidates);
  const known = all.filter((node) => !chosen.has(node));
  for (let from = 0, count = firstNodes; ; from += count, count *= 2) {
    const some = candidates.slice(from, from + count);
    const names = new Set(some.map(({ name }) => name));
    const pods = some.length > 0 ? await podsOn([...names]) : [];
    known.push(
      ...withLoads(
        some,
        pods.filter(({ node }) => names.has(node)),
        wanted,
      ),
    );
    const facts = capacityOf({ nodes: known, shapes, ...(sizes && { sizes }) }, standbyTaint);
    if (facts.fit >= facts.needed || from + count >= candidates.length) return facts;
  }
}
