/** Whether there is room for the next attempt, looked for where a recovery would look. */

import type { WorkerSettings } from '../../contract/settings.schema.ts';
import type { Kube } from '../../kube/connection.ts';
import { readRoom, takeCensus } from '../../kube/capacity.ts';
import { capacityOf } from '../../policy/placement.ts';
import type { PlanFacts } from './facts.ts';
import { judgeImagined } from './imagined-node.ts';
import { planOf } from './plan.ts';

/** The facts, with room where the plan asks for it. A node that an imagined fault would take out takes no pods. */
export async function withRoom(kube: Kube, facts: PlanFacts, settings: WorkerSettings): Promise<PlanFacts> {
  const { recovery } = planOf(facts, settings).decisions;
  const plan = recovery?.kind === 'stop' || recovery?.kind === 'end' ? recovery.plan : undefined;
  if (!plan?.capacity) return facts;
  const room = await readRoom(kube, () => takeCensus(kube), facts.attempt.job.ref, plan.level.name === 'pod' ? plan.level.pods : undefined);
  if (!room) return facts;
  const out = new Set(judgeImagined(facts, settings).facts.attempt.nodes.flatMap(({ name, ready, taint }) => (ready && !taint ? [] : [name])));
  const nodes = room.nodes.map((node) => (out.has(node.name) ? { ...node, ready: false } : node));
  return { ...facts, capacity: capacityOf({ ...room, nodes }, settings.recovery.capacity.spare) };
}
