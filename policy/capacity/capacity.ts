import type { CapacityRequest } from '../../contract/wire/activities.ts';
import type { CapacityDecision } from '../../contract/recovery/plan.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../decision.ts';

type Decision = Undated<CapacityDecision>;

/** Capacity may become free at any time; the interval doubles while the hold lasts. */
const lookAgainMs = 5000;

/** Whether there is capacity for the next attempt, and what to do otherwise. A choice that does not help holds, because a stopped job could not start again. */
export function decideCapacity(request: CapacityRequest, settings: WorkerSettings): Decision {
  const { facts, plan, approved } = request;
  if (facts.fit >= facts.needed) return { kind: 'go', because: `capacity for ${podsOf(facts.needed)}` };
  const short = `capacity for ${facts.fit} of ${podsOf(facts.needed)} (${facts.because})`;
  switch (plan.choice) {
    case 'restart':
      return { kind: 'go', because: `${short}; the other pods will stay pending` };
    case 'standby':
      return takeStandbyNodes(request, short);
    case 'shrink':
      return shrink(request, short);
    case 'hold':
      return hold(short, 'free or add nodes (kcover node list), or allow another choice: recovery.capacity');
    case 'ask':
      if (approved) return { kind: 'go', because: `${short}; a person approved that the other pods stay pending` };
      return {
        kind: 'ask',
        because: short,
        withinMs: settings.recovery.approval.within,
        otherwise: settings.recovery.approval.otherwise,
      };
  }
}

const podsOf = (count: number): string => `${count} ${count === 1 ? 'pod' : 'pods'}`;
const hold = (because: string, advice: string): Decision => ({ kind: 'hold', because, remedy: advice, lookAgainMs });

function takeStandbyNodes({ facts, standbyTaken }: CapacityRequest, short: string): Decision {
  const advice = 'free or add nodes, or taint others as standby nodes';
  if (standbyTaken) return hold(`${short}, after standby nodes were taken`, advice);
  if (facts.fitWithStandby < facts.needed)
    return hold(`${short}, and for ${facts.fitWithStandby} with standby nodes`, advice);
  return {
    kind: 'standby',
    nodes: facts.standbyNodes,
    because: `${short}, and for all with standby nodes ${facts.standbyNodes.join(', ')}`,
  };
}

/** The largest size that fits, among those that job, kind and operator allow. */
function shrink({ facts, plan, by }: CapacityRequest, short: string): Decision {
  if (by === 'pods')
    return hold(`${short}, and only the whole job can be shrunk`, 'free or add nodes, or allow another choice');
  if (by !== 'suspend')
    return hold(
      `${short}, and only a job that is stopped by suspend can be shrunk`,
      'set recovery.stop to suspend, or allow another choice',
    );
  if (!facts.sizes)
    return hold(`${short}, and this job cannot be shrunk`, 'free or add nodes, or allow another choice');
  if (plan.allowedSizes?.length === 0) {
    const advice = 'free or add nodes, or correct kcover.io/shapes and kcover.io/min-replicas on the job';
    return hold(`${short}, and the sizes that the job sets allow no smaller one`, advice);
  }
  const { now } = facts.sizes;
  const least = Math.max(plan.least, facts.sizes.least);
  const most = Math.min(facts.fit, now - 1);
  const allowed = plan.allowedSizes
    ? plan.allowedSizes.filter((size) => size >= least && size <= most)
    : most >= least
      ? [most]
      : [];
  if (allowed.length > 0) {
    const pods = Math.max(...allowed);
    return { kind: 'shrink', pods, because: `${short}; it continues with ${pods} pods instead of ${now}` };
  }
  const allowedSizes = plan.allowedSizes ? `, in sizes of ${plan.allowedSizes.join(', ')}` : '';
  return hold(
    `${short}, and it needs at least ${least}${allowedSizes}`,
    'free or add nodes, or lower kcover.io/min-replicas on the job',
  );
}
