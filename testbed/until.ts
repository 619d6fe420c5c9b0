import { setTimeout as sleep } from 'node:timers/promises';

/** Result of one look at the test cluster: the awaited value, or in words what is still missing. */
export type WaitResult<T> = { readonly found: T } | { readonly missing: string };

/** Pauses between looks, ms: short at first, then longer, because every look costs the servers something. */
const firstPause = 25;
const longestPause = 250;
const growth = 1.2;

/** Looks again until the value is there; after the deadline the error says what was missing last. A measurement passes a shorter `mostMs`. */
export async function until<T>(
  what: string,
  withinMs: number,
  look: () => Promise<WaitResult<T>>,
  mostMs = longestPause,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (let pause = firstPause; ; pause = Math.min(pause * growth, mostMs)) {
    const seen = await look().catch((error: unknown): WaitResult<T> => ({
      missing: reasonOf(error),
    }));
    if ('found' in seen) return seen.found;
    if (Date.now() > deadline)
      throw new Error(
        `${what} did not happen within ${withinMs / 1000} s\n  because: ${seen.missing}\n  try:     read the logs in the test cluster's directory`,
      );
    await sleep(pause);
  }
}

/** With its cause: the Temporal client says only which call failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
