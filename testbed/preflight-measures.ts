/** Simulated measurements of a job's preflight containers: true values, noise, and rounds of pairs. */

import { type PreflightCheck, preflightLimits } from '../contract/preflight/preflight.ts';

/** The true state of the nodes. Bandwidths in GiB/s. */
export interface MeasureTruth {
  /** Names of nodes whose pairs are slow. */
  readonly slow?: readonly string[];
  /** Nodes whose own check fails: they take part in no pair. */
  readonly failed?: Readonly<Record<string, PreflightCheck>>;
  /** Of a pair of healthy nodes; 180 by default. */
  readonly gbps?: number;
  /** Of a pair with a slow node; 60 by default. */
  readonly slowGbps?: number;
  /** Standard deviation of a measurement, relative to it; 0.02 by default. */
  readonly sigma?: number;
  /** 5 by default, or as many as there are partners. */
  readonly rounds?: number;
  /** A container reports a pair below it as failed; 100 by default. */
  readonly threshold?: number;
  /** Changes the pairs and the noise. */
  readonly seed?: number;
}

/** A tested node: its rank is its place in the list. */
export interface Tested {
  readonly node: string;
  readonly address: string;
}

/** A report file as a preflight container writes it. */
export interface RawReport {
  readonly version: 1;
  readonly workload: string;
  readonly workload_size: number;
  readonly rank: number;
  readonly node_name: string;
  readonly node_ip: string;
  readonly gpu_check: 1 | 2;
  readonly storage_check: 1 | 2;
  readonly node_check_busbw_threshold_gbps: string;
  readonly batches: readonly RawBatch[];
}

export interface RawBatch {
  readonly schema: 'v3';
  readonly phase: 'pairwise';
  readonly batch_idx: number;
  readonly pair: readonly [string, string];
  readonly self_ip: string;
  readonly local_rank: 0;
  readonly status: 'ok' | 'fail';
  readonly allreduce_ms?: number;
  readonly world_size: 16;
  readonly allreduce_shape: number;
  readonly dtype_bytes: 4;
  readonly rc?: number;
  readonly reason?: string;
}

/** Elements of the all-reduce: 1 GiB of float32. */
const shape = 268_435_456;
/** Ranks of a pair: eight GPUs on each side. */
const ranks = 16;

/** Whether the container exits with 0. */
export const passed = (report: RawReport): boolean =>
  report.gpu_check === 1 && report.storage_check === 1 && report.batches.every(({ status }) => status === 'ok');

/** One report for each node, in order. The same truth and the same nodes give the same reports. */
export function measure(workload: string, all: readonly Tested[], truth: MeasureTruth = {}): RawReport[] {
  const { rounds = 5, threshold = 100, seed = 1 } = truth;
  const random = generator(seed);
  const batches = all.map((): RawBatch[] => []);
  for (const [round, pairs] of roundsOf(
    shuffled(all.length, random),
    Math.min(rounds, preflightLimits.rounds),
  ).entries()) {
    for (const [one, other] of pairs) {
      const [a, b] = [all[one], all[other]];
      if (!a || !b) continue;
      const gbps = bandwidth([a.node, b.node], truth, random);
      for (const [rank, self] of [
        [one, a],
        [other, b],
      ] as const) {
        if (truth.failed?.[self.node] === undefined)
          batches[rank]?.push(batchOf(round, [a.address, b.address], self.address, gbps, threshold));
      }
    }
  }
  return all.map(({ node, address }, rank) => ({
    version: 1,
    workload,
    workload_size: all.length,
    rank,
    node_name: node,
    node_ip: address,
    gpu_check: truth.failed?.[node] === 'gpu' ? 2 : 1,
    storage_check: truth.failed?.[node] === 'storage' ? 2 : 1,
    node_check_busbw_threshold_gbps: String(threshold),
    batches: batches[rank] ?? [],
  }));
}

function bandwidth(
  pair: readonly string[],
  { slow = [], failed = {}, gbps = 180, slowGbps = 60, sigma = 0.02 }: MeasureTruth,
  random: () => number,
): number | undefined {
  if (pair.some((node) => failed[node] !== undefined)) return undefined;
  const mean = pair.some((node) => slow.includes(node)) ? slowGbps : gbps;
  return mean * (1 + sigma * normal(random));
}

/** Without a bandwidth the partner did not arrive. */
function batchOf(
  round: number,
  pair: readonly [string, string],
  self: string,
  gbps: number | undefined,
  threshold: number,
): RawBatch {
  const common = { schema: 'v3', phase: 'pairwise', batch_idx: round, pair, self_ip: self, local_rank: 0 } as const;
  const task = { world_size: ranks, allreduce_shape: shape, dtype_bytes: 4 } as const;
  if (gbps === undefined) return { ...common, ...task, status: 'fail', rc: 124, reason: 'timed out' };
  const gib = (shape * task.dtype_bytes) / 2 ** 30;
  const ms = Number((((gib * 2 * (ranks - 1)) / ranks / gbps) * 1000).toFixed(3));
  return { ...common, ...task, status: gbps < threshold ? 'fail' : 'ok', allreduce_ms: ms };
}

/** Circle method: the first stays, the others move on by one; no pair occurs twice. With an odd number one node sits out in each round. */
function roundsOf(order: readonly number[], most: number): (readonly [number, number])[][] {
  const [first = -1, ...rest] = order.length % 2 === 0 ? order : [-1, ...order];
  return Array.from({ length: Math.min(most, rest.length) }, (_, round) => {
    const circle = [first, ...rest.slice(round), ...rest.slice(0, round)];
    return circle.slice(0, circle.length / 2).map((one, index) => [one, circle.at(-1 - index) ?? -1] as const);
  });
}

function shuffled(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  return order
    .map((index) => ({ index, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ index }) => index);
}

/** From 0 up to 1; mulberry32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
