/** How much of a node the pods hold that test it. Pure. */

import type { Amounts } from '../../contract/placement.ts';
import type { NodeShare } from '../../contract/preflight.ts';
import type { PreflightPod } from '../../kube/preflight-pods.ts';

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

type AcceleratorUser = Pick<PreflightPod, 'startedAt' | 'tests' | 'testing' | 'ended' | 'over' | 'accelerators'>;

/** Of the pods beside one, so many count: more than a kubelet runs at once. */
const mostBeside = 256;

/**
 * The most that this pod and those beside it held at one moment. They may have ended since, or be leaving: where a node is broken, all of them
 * fail. Pods that came one after the other are not added up, for a tenant with one accelerator could so convict a node of eight.
 */
export function shareOf(has: Amounts, pod: AcceleratorUser, beside: readonly AcceleratorUser[]): NodeShare {
  const [own] = usageOf(pod);
  if (!own) return nodeShare(has, [pod.accelerators]);
  const others = beside.flatMap(usageOf).filter((other) => usesAt(other, own.from) || usesAt(own, other.from));
  const holdings = [own, ...others.slice(0, mostBeside)];
  // What is held grows only where another begins.
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
 * From when a kubelet admitted the pod to the end of what is known that it ran. None for one whose test never ran: it may be there by its own
 * word alone, or was refused.
 */
function usageOf({ startedAt, tests, testing, ended, over, accelerators }: AcceleratorUser): readonly UsageSpan[] {
  const ran = tests.length > 0 || (!over && (testing || ended !== undefined));
  const from = Math.min(...[...(startedAt === undefined ? [] : [startedAt]), ...tests.map((test) => test.from)].map(Date.parse));
  if (!ran || !Number.isFinite(from)) return [];
  const until = over ? Math.max(from, ...tests.map((test) => Date.parse(test.until ?? test.from))) : Infinity;
  return [{ from, until, accelerators }];
}

/** Times are whole seconds: of two that begin in the same one, each may be over in it. */
const usesAt = ({ from, until }: UsageSpan, at: number): boolean => from === at || (from < at && at < until);

const total = (amounts: readonly number[]): number => amounts.reduce((sum, amount) => sum + amount, 0);
