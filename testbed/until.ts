import { setTimeout as sleep } from 'node:timers/promises';

/** What a look at the world gave: the thing waited for, or in words what is still missing. */
export type Look<T> = { readonly found: T } | { readonly missing: string };

/** Looks again every 50 ms until it is there; after the deadline the error says what was missing last. */
export async function until<T>(what: string, withinMs: number, look: () => Promise<Look<T>>): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look().catch((error: unknown): Look<T> => ({ missing: error instanceof Error ? error.message : String(error) }));
    if ('found' in seen) return seen.found;
    if (Date.now() > deadline)
      throw new Error(`${what} did not happen within ${withinMs / 1000} s\n  because: ${seen.missing}\n  try:     read the logs in the world's directory`);
    await sleep(50);
  }
}
