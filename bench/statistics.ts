/** Order statistics of one measure. */
export interface Summary {
  readonly n: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Nearest rank: every figure was measured. With fewer than 100 values p99 is the largest. */
export function summarise(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { n: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

export const median = (values: readonly number[]): number => summarise(values).p50;
