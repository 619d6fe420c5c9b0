/** How much of a node is held by the pods that test it. Pure. */

import type { Amounts } from '../../contract/recovery/placement.ts';
import type { NodeShare } from '../../contract/preflight/preflight.ts';
import type { PreflightPod } from '../../kube/pods/preflight-pods.ts';

/**
 * Share of the accelerators in the node's own status: a kubelet admits no pod that asks for more than there are, and ignores resources
 * that the node does not know. `has` may be 0, when the device has failed since the pods were admitted.
 */
export function nodeShare(has: Amounts, pods: readonly Amounts[]): NodeShare {
  const asked = Object.entries(has).map(([name, amount]) => {
    const sum = pods.reduce((total, pod) => total + (pod[name] ?? 0), 0);
    return amount > 0 ? Math.min(sum, amount) : sum;
  });
  return { asked: total(asked), of: total(Object.values(has)) };
}

type AcceleratorUser = Pick<PreflightPod, 'startedAt' | 'tests' | 'testing' | 'ended' | 'over' | 'accelerators'>;

/** Other pods that are counted: more than a kubelet runs at once. */
const mostBeside = 256;

/**
 * The most that this pod and those beside it held at one moment. They may have ended since, or be terminating: where a node is broken, all of
 * them fail. Pods that ran one after the other are not added up, or a tenant with one accelerator could convict a node of eight.
 */
export function shareOf(has: Amounts, pod: AcceleratorUser, beside: readonly AcceleratorUser[]): NodeShare {
  const [own] = usageOf(pod);
  if (!own) return nodeShare(has, [pod.accelerators]);
  const others = beside.flatMap(usageOf).filter((other) => usesAt(other, own.from) || usesAt(own, other.from));
  const holdings = [own, ...others.slice(0, mostBeside)];
  // Usage grows only when another pod begins.
  const starts = new Set(holdings.map(({ from }) => from).filter((from) => usesAt(own, from)));
  const shares = [...starts].map((at) =>
    nodeShare(
      has,
      holdings.filter((one) => usesAt(one, at)).map(({ accelerators }) => accelerators),
    ),
  );
  return shares.reduce((most, share) => (share.asked > most.asked ? share : most), nodeShare(has, [pod.accelerators]));
}

/** Milliseconds of the node's clock. */
interface UsageSpan {
  readonly from: number;
  readonly until: number;
  readonly accelerators: Amounts;
}

/**
 * From when a kubelet admitted the pod to the end of what is known that it ran. None for a pod whose test never ran: its claims are
 * unconfirmed, or it was refused.
 */
function usageOf({ startedAt, tests, testing, ended, over, accelerators }: AcceleratorUser): readonly UsageSpan[] {
  const ran = tests.length > 0 || (!over && (testing || ended !== undefined));
  const from = Math.min(
    ...[...(startedAt === undefined ? [] : [startedAt]), ...tests.map((test) => test.from)].map(Date.parse),
  );
  if (!ran || !Number.isFinite(from)) return [];
  const until = over ? Math.max(from, ...tests.map((test) => Date.parse(test.until ?? test.from))) : Infinity;
  return [{ from, until, accelerators }];
}

/** Times are whole seconds: of two pods that begin in the same second, either may be over in it. */
const usesAt = ({ from, until }: UsageSpan, at: number): boolean => from === at || (from < at && at < until);

const total = (amounts: readonly number[]): number => amounts.reduce((sum, amount) => sum + amount, 0);
