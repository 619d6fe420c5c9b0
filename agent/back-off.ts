/** How long to wait after the n-th failure in a row (from 1): doubles from 200 ms to 5 s, by chance between half and all of it. */
export function backOff(failures: number, chance: number): number {
  const most = Math.min(5000, 200 * 2 ** Math.min(failures, 20));
  return most / 2 + (most / 2) * chance;
}
