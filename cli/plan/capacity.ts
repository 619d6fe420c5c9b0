/** Checks whether the next attempt would fit on the nodes, as a recovery does. */

import { findCapacity } from '../../activities/recovery/find-capacity.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { podsOnNodes, readNodes, readWanted } from '../../kube/capacity.ts';
import type { Kube } from '../../kube/client/connection.ts';
import type { PlanInput } from './facts.ts';
import { judgeHypothetical } from './hypothetical-node.ts';
import { planOf } from './plan.ts';

/** The facts with the capacity, where the plan needs it. A node that the hypothetical fault would quarantine does not count. */
export async function withCapacity(kube: Kube, facts: PlanInput, settings: WorkerSettings): Promise<PlanInput> {
  const { recovery } = planOf(facts, settings).decisions;
  const plan = recovery?.kind === 'stop' || recovery?.kind === 'end' ? recovery.plan : undefined;
  if (!plan?.capacity) return facts;
  const out = new Set(
    judgeHypothetical(facts, settings).facts.attempt.nodes.flatMap(({ name, ready, taint }) =>
      ready && !taint ? [] : [name],
    ),
  );
  let read: ReturnType<typeof readNodes> | undefined;
  const nodes = async () =>
    (await (read ??= readNodes(kube))).map((node) => (out.has(node.name) ? { ...node, ready: false } : node));
  const source = { nodes, podsOn: (names: readonly string[]) => podsOnNodes(kube, names) };
  const capacityFor = async (pods: readonly string[] | undefined): Promise<CapacityFacts | undefined> => {
    const wanted = await readWanted(kube, facts.attempt.job.ref, pods);
    return wanted && findCapacity(source, wanted, settings.recovery.capacity.standbyTaint);
  };
  const capacity = await capacityFor(plan.level.name === 'pod' ? plan.level.pods : undefined);
  const capacityOfAll =
    plan.level.name === 'pod' && plan.capacity.choice === 'shrink' ? await capacityFor(undefined) : undefined;
  return { ...facts, ...(capacity && { capacity }), ...(capacityOfAll && { capacityOfAll }) };
}
