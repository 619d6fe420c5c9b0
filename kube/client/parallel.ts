/** Parallel calls, limited to a few at once to spare the API server. */

/** Results in the order of the items. The first error rejects; calls in flight are not awaited. */
export async function inParallel<T, R>(items: readonly T[], call: (item: T) => Promise<R>, atOnce = 32): Promise<R[]> {
  const results = new Map<number, R>();
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results.set(index, await call(item));
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return [...results].toSorted(([a], [b]) => a - b).map(([, result]) => result);
}

/** For calls that are begun one by one: at most so many run at once, and the others wait in their order. */
export function limitedTo(atOnce: number): <T>(call: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (call) => {
    if (running >= atOnce) await new Promise<void>((begin) => waiting.push(begin));
    else running += 1;
    try {
      return await call();
    } finally {
      const begin = waiting.shift();
      if (begin) begin();
      else running -= 1;
    }
  };
}
