/** Looks for room for the next attempt of a job. A cluster may have very many pods: those of nodes that could take it are asked for, and only as far as it takes. */

import type { NodeCapacity } from '../contract/placement.ts';
import type { CapacityFacts } from '../contract/recovery-plan.ts';
import { type BoundPod, podsOnNodes, readNodes, type WantedCapacity, withLoads } from '../kube/capacity.ts';
import type { Kube } from '../kube/connection.ts';
import { candidatesFor, capacityOf } from '../policy/placement.ts';
import { createBatcher, coalesce } from './batcher.ts';

export interface CapacitySource {
  /** Every node, as if nothing were on it. */
  readonly nodes: () => Promise<readonly NodeCapacity[]>;
  /** Of these nodes, and perhaps of others. */
  readonly podsOn: (names: readonly string[]) => Promise<readonly BoundPod[]>;
}

/** Many jobs may be short at the same moment: they share their looks. */
export function sharedCapacitySource(kube: Kube): CapacitySource {
  return {
    nodes: coalesce(() => readNodes(kube)),
    podsOn: createBatcher(async (asked: readonly (readonly string[])[]) => {
      const pods = await podsOnNodes(kube, [...new Set(asked.flat())]);
      return asked.map(() => pods);
    }),
  };
}

/** Nodes whose pods are asked for at first; twice as many each time until all pods of the attempt have found room. */
const firstNodes = 100;

export async function findCapacity({ nodes, podsOn }: CapacitySource, wanted: WantedCapacity, standbyTaint: string): Promise<CapacityFacts> {
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
