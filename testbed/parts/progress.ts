import type { OnProgress } from './cache.ts';

const everyMs = 15_000;

/** Prints every 15 s that `what` is still going on, for how long, and the last detail that the work reported. */
export async function withProgress<T>(
  what: string,
  onProgress: OnProgress,
  work: (report: (detail: string) => void) => Promise<T>,
): Promise<T> {
  const begin = Date.now();
  let detail = '';
  const elapsed = (): string => `${Math.round((Date.now() - begin) / 1000)} s`;
  onProgress(`${what} ...`);
  const timer = setInterval(() => onProgress(`${what}: ${detail}${elapsed()} so far`), everyMs);
  try {
    const result = await work((text) => void (detail = `${text}, `));
    onProgress(`${what}: done after ${elapsed()}`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
