/** What is known of each node's agent, in memory: when it was last heard, and how far its reports are with Temporal. */

import type { ReportBatch } from '../contract/reports.ts';

export interface AgentSeen {
  /** Monotonic, ms. */
  readonly at: number;
  readonly bootId: string;
}

/** Streams that one node may have: of one boot after the other, or after a lost spool. */
const streamsPerNode = 8;
/** Nodes that are not heard of for so long are forgotten. */
const forgetMs = 24 * 3600_000;

export interface AgentRegistry {
  /** A batch was authenticated: its sender lives. */
  markSeen(batch: ReportBatch): void;
  acknowledged(batch: ReportBatch): number;
  acknowledge(batch: ReportBatch, seq: number): void;
  /** Nodes whose agent was heard within the time. */
  seenWithin(ms: number): number;
  get(node: string): AgentSeen | undefined;
}

export function rememberAgents(now: () => number): AgentRegistry {
  const seen = new Map<string, AgentSeen>();
  const streams = new Map<string, Map<string, number>>();
  const keyOf = ({ bootId, stream }: ReportBatch) => `${bootId} ${stream}`;

  function forgetOld(): void {
    for (const [node, { at }] of seen) {
      // In the order in which they were last heard: the first fresh one ends the search.
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
