/** Which agents are silent. A silent agent means that kcover cannot observe its node; it says nothing about the node itself. */

import { formatDuration } from '../../contract/settings/duration.ts';

export interface AgentLiveness {
  /** Names of nodes that should have an agent. */
  readonly nodes: readonly string[];
  /** When the agent of a node last reported to this leader; monotonic, ms, as all times here. */
  readonly lastSeenAt: (node: string) => number | undefined;
  /** When this leader's term began: it has no reports from before. */
  readonly ledSince: number;
  readonly graceMs: number;
}

/** No agent is silent before this leader has led for a whole grace period. */
export const silentNodes = ({ nodes, lastSeenAt, ledSince, graceMs }: AgentLiveness, now: number): readonly string[] =>
  nodes.filter((node) => now - Math.max(lastSeenAt(node) ?? ledSince, ledSince) > graceMs);

/** Why a node cannot be observed; undefined while its agent reports, and where no agent is expected. */
export function whyUnobservable(node: string, liveness: AgentLiveness, now: number): string | undefined {
  if (!silentNodes({ ...liveness, nodes: liveness.nodes.filter((one) => one === node) }, now).includes(node))
    return undefined;
  const at = liveness.lastSeenAt(node);
  return `the agent of ${node} ${at === undefined ? 'has never reported' : `last reported ${formatDuration(now - at)} ago`}`;
}
