/** The longest wait: while there is no leader, which the next try may find; and while the leader cannot take anything. */
export const longestWait = { seeking: 2000, refused: 5000 } as const;

/** How long to wait after the n-th failure in a row (from 1): doubles from 200 ms up to `longest`, by chance between half and all of it. */
export function backOff(failures: number, chance: number, longest: number): number {
  const most = Math.min(longest, 200 * 2 ** Math.min(failures, 20));
  return most / 2 + (most / 2) * chance;
}
