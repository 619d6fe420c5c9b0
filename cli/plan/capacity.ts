/** Looks for capacity where the plan asks for it, as a recovery does. */

import { findCapacity } from '../../activities/recovery/find-capacity.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { podsOnNodes, readNodes, readWanted } from '../../kube/capacity.ts';
import type { Kube } from '../../kube/client/connection.ts';
import type { CapacityLook } from './assumptions.ts';
import type { PlanInput } from './facts.ts';
import { planOf } from './plan.ts';

/** The facts with the capacity that the plan looks at. A node that is assumed to be quarantined does not count. */
export async function withCapacity(kube: Kube, facts: PlanInput, settings: WorkerSettings): Promise<PlanInput> {
  const seen = new Map<'pods' | 'all', CapacityFacts>();
  let read: ReturnType<typeof readNodes> | undefined;
  const look: CapacityLook = async (pods, { job, nodes: blamed }) => {
    const which = pods ? 'pods' : 'all';
    const wanted = seen.has(which) ? undefined : await readWanted(kube, job.ref, pods);
    if (!wanted) return seen.get(which);
    const out = new Set(blamed.flatMap(({ name, ready, taint }) => (ready && !taint ? [] : [name])));
    const nodes = async () =>
      (await (read ??= readNodes(kube))).map((node) => (out.has(node.name) ? { ...node, ready: false } : node));
    const source = { nodes, podsOn: (names: readonly string[]) => podsOnNodes(kube, names) };
    const found = await findCapacity(source, wanted, settings.recovery.capacity.standbyTaint);
    seen.set(which, found);
    return found;
  };
  await planOf(facts, settings, look);
  const [capacity, capacityOfAll] = seen.values();
  return { ...facts, ...(capacity && { capacity }), ...(capacityOfAll && { capacityOfAll }) };
}
