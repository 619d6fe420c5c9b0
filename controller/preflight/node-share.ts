/** How much of a node the pods hold that test it. Pure. */

import type { Amounts } from '../../contract/placement.ts';
import type { NodeShare } from '../../contract/preflight.ts';

/**
 * Of the accelerators that the node has by its own word: a kubelet lets no pod run that asks for more of those than there are, and asks nothing
 * of a resource that the node does not know. `has` may be 0: what broke was there when the pods came.
 */
export function nodeShare(has: Amounts, pods: readonly Amounts[]): NodeShare {
  const asked = Object.entries(has).map(([name, amount]) => {
    const sum = pods.reduce((total, pod) => total + (pod[name] ?? 0), 0);
    return amount > 0 ? Math.min(sum, amount) : sum;
  });
  return { asked: total(asked), of: total(Object.values(has)) };
}

const total = (amounts: readonly number[]): number => amounts.reduce((sum, amount) => sum + amount, 0);
