/** Which agents should have been heard. Silence says that kcover does not see a node, and nothing about the node itself. */

import { formatDuration } from '../contract/duration.ts';

export interface AgentLiveness {
  /** Names of nodes that should have an agent. */
  readonly nodes: readonly string[];
  /** When the agent of a node was last heard by this leader; monotonic, ms, as all times here. */
  readonly lastSeenAt: (node: string) => number | undefined;
  /** A leader has heard nobody before it led. */
  readonly ledSince: number;
  readonly graceMs: number;
}

/** Nobody is silent before a whole grace period of this leader has passed. */
export const silentNodes = ({ nodes, lastSeenAt, ledSince, graceMs }: AgentLiveness, now: number): readonly string[] =>
  nodes.filter((node) => now - Math.max(lastSeenAt(node) ?? ledSince, ledSince) > graceMs);

/** Why nobody can say what happened on a node; undefined while its agent can be heard, and where none is expected. */
export function whyUnobservable(node: string, liveness: AgentLiveness, now: number): string | undefined {
  if (!silentNodes({ ...liveness, nodes: liveness.nodes.filter((one) => one === node) }, now).includes(node)) return undefined;
  const at = liveness.lastSeenAt(node);
  return `the agent of ${node} was ${at === undefined ? 'never heard' : `last heard ${formatDuration(now - at)} ago`}`;
}
