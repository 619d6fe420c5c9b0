/** Reports of preflight containers for tests: a set of ranks, some of them on slow nodes. */

import type { CollectedReport, PairTest, TestingPod, Workload } from '../../contract/preflight/preflight.ts';
import { job } from './builders.ts';

export const workload: Workload = { namespace: 'train', name: 'llm', uid: job.uid, job };

export const addressOf = (rank: number): string => `10.0.0.${rank + 1}`;
export const nodeOf = (rank: number): string => `gpu-${rank}`;

export interface ReportTruth {
  readonly size: number;
  /** Ranks whose pairs reach a tenth of the others' bandwidth. */
  readonly slow?: readonly number[];
  /** Ranks whose GPU check failed; they test nothing. */
  readonly broken?: readonly number[];
  /** Distinguishes pods of different attempts. */
  readonly attempt?: number;
}

/** The pod of a rank in an attempt; those of later attempts are younger. */
export const podOf = (rank: number, attempt = 1): TestingPod => ({
  name: `llm-worker-${rank}`,
  uid: `pod-${attempt}-${rank}`,
  createdAt: `2026-11-21T07:0${attempt}:00Z`,
});

/** One report of each rank after `min(size - 1, 5)` rounds; partners follow the circle method. */
export const reportsOf = (truth: ReportTruth): CollectedReport[] =>
  Array.from({ length: truth.size }, (_, rank) => reportOf(truth, rank));

export function reportOf({ size, slow = [], broken = [], attempt = 1 }: ReportTruth, rank: number): CollectedReport {
  const failed = broken.includes(rank);
  const rounds = Array.from({ length: Math.min(size - 1, 5) }, (_, round) => round);
  const tests = rounds.map((round): PairTest => {
    const peer = partner(size, round, rank);
    if (broken.includes(peer)) return { round, peer: addressOf(peer), status: 'fail', because: 'rc 124' };
    const gbps = [rank, peer].some((one) => slow.includes(one)) ? 9.5 : 95 + ((rank + peer + round) % 5) * 0.2;
    return { round, peer: addressOf(peer), status: 'ok', gbps };
  });
  return {
    report: {
      size,
      rank,
      node: nodeOf(rank),
      address: addressOf(rank),
      tests: failed ? [] : tests,
      ...(failed ? { failed: ['gpu'] } : {}),
    },
    pod: podOf(rank, attempt),
    share: { asked: 8, of: 8 },
    writtenAt: new Date(Date.UTC(2026, 10, 21, 7, attempt, rank % 60)).toISOString(),
  };
}

/** The last rank stays, the others rotate around it; `size` is even. */
function partner(size: number, round: number, rank: number): number {
  const turning = size - 1;
  if (rank === turning) return round % turning;
  const at = (((round - (rank - round)) % turning) + turning) % turning;
  return at === rank ? turning : at;
}
