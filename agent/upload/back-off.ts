import type { Failure } from './connection.ts';

/** Longest wait: while the leader is not found, and while the leader cannot accept anything. */
const longestWait = { seeking: 2000, refused: 5000 } as const;

/** How long to wait after the n-th failure in a row (from 1): doubles from 200 ms up to `longest`, with jitter between half and all of it. */
function backOff(failures: number, chance: number, longest: number): number {
  const most = Math.min(longest, 200 * 2 ** Math.min(failures, 20));
  return most / 2 + (most / 2) * chance;
}

/** How long to wait after this failure, the n-th in a row: at least as long as the controller asked. */
export function waitAfter(
  { reason, retryAfterMs = 0 }: Pick<Failure, 'reason' | 'retryAfterMs'>,
  failures: number,
  chance: number,
): number {
  const seeking = reason === 'unreachable' || reason === 'not-leading';
  const wait = backOff(failures, chance, longestWait[seeking ? 'seeking' : 'refused']);
  // Jitter, so that agents that were rejected together do not retry together.
  return Math.max(wait, retryAfterMs * (1 + chance / 2));
}
