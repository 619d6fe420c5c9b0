/** The state of each node's agent, in memory: when it was last seen, and which of its reports Temporal has. */

import type { ReportBatch } from '../../contract/wire/reports.ts';

export interface AgentState {
  /** Monotonic, ms. */
  readonly at: number;
  readonly bootId: string;
}

/** Streams kept for one node: a reboot, or a lost spool, begins a new one. */
const streamsPerNode = 8;
/** Nodes whose agent was not seen for this long are forgotten. */
const forgetMs = 24 * 3600_000;

export interface AgentRegistry {
  /** A batch was authenticated, so its sender is alive. */
  markSeen(batch: ReportBatch): void;
  acknowledged(batch: ReportBatch): number;
  acknowledge(batch: ReportBatch, seq: number): void;
  /** Number of nodes whose agent was seen within this time. */
  seenWithin(ms: number): number;
  get(node: string): AgentState | undefined;
}

export function rememberAgents(now: () => number): AgentRegistry {
  const seen = new Map<string, AgentState>();
  const streams = new Map<string, Map<string, number>>();
  const keyOf = ({ bootId, stream }: ReportBatch) => `${bootId} ${stream}`;

  function forgetOld(): void {
    for (const [node, { at }] of seen) {
      // Sorted by when they were last seen: the first recent one ends the search.
      if (now() - at < forgetMs) return;
      seen.delete(node);
      streams.delete(node);
    }
  }

  return {
    markSeen({ node, bootId }) {
      seen.delete(node);
      seen.set(node, { at: now(), bootId });
      forgetOld();
    },
    acknowledged: (batch) => streams.get(batch.node)?.get(keyOf(batch)) ?? 0,
    acknowledge(batch, seq) {
      const ofNode = streams.get(batch.node) ?? new Map<string, number>();
      streams.set(batch.node, ofNode);
      const before = ofNode.get(keyOf(batch)) ?? 0;
      ofNode.delete(keyOf(batch));
      ofNode.set(keyOf(batch), Math.max(before, seq));
      for (const oldest of ofNode.keys()) {
        if (ofNode.size <= streamsPerNode) return;
        ofNode.delete(oldest);
      }
    },
    seenWithin: (ms) => [...seen.values()].filter(({ at }) => now() - at <= ms).length,
    get: (node) => seen.get(node),
  };
}
