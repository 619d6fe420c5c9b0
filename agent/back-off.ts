import type { Failure } from './controller-connection.ts';

/** The longest wait: while there is no leader, which the next try may find; and while the leader cannot take anything. */
const longestWait = { seeking: 2000, refused: 5000 } as const;

/** How long to wait after the n-th failure in a row (from 1): doubles from 200 ms up to `longest`, by chance between half and all of it. */
function backOff(failures: number, chance: number, longest: number): number {
  const most = Math.min(longest, 200 * 2 ** Math.min(failures, 20));
  return most / 2 + (most / 2) * chance;
}

/** How long to wait after such a failure, the n-th in a row: as long as we were asked to, at least. */
export function waitAfter({ reason, retryAfterMs = 0 }: Pick<Failure, 'reason' | 'retryAfterMs'>, failures: number, chance: number): number {
  const seeking = reason === 'unreachable' || reason === 'not-leading';
  const wait = backOff(failures, chance, longestWait[seeking ? 'seeking' : 'refused']);
  // Not all of those who were sent away at once come back at once.
  return Math.max(wait, retryAfterMs * (1 + chance / 2));
}
