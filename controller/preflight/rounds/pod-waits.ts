/** Holds requests of pods that our watch has not reported yet: one request for each pod, up to a limit. */

export interface PodWaits<Pod> {
  /** The pod once it is known. `asked again`: a later request replaced this one. `full`: too many wait already. */
  await(uid: string): Promise<Pod | 'asked again' | 'full' | 'unknown'>;
  /** Requests that wait. */
  waiting(): number;
}

export interface PodWaitsOptions<Pod> {
  readonly podOf: (uid: string) => Pod | undefined;
  /** Longest wait, ms. */
  readonly withinMs: number;
  /** Ends all waits. */
  readonly signal: AbortSignal;
  /** Requests that may wait. */
  readonly most?: number;
}

/** Interval between looks for the pods, ms. */
const everyMs = 100;

interface PodWaiter<Pod> {
  readonly until: number;
  readonly resolve: (seen: Pod | 'asked again' | 'unknown') => void;
}

export function openPodWaits<Pod>({ podOf, withinMs, signal, most = 1000 }: PodWaitsOptions<Pod>): PodWaits<Pod> {
  const waiters = new Map<string, PodWaiter<Pod>>();
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', look, { once: true });

  /** One look for all of them. */
  function look(): void {
    for (const [uid, { until, resolve }] of waiters) {
      const pod = podOf(uid);
      if (!pod && !signal.aborted && performance.now() < until) continue;
      waiters.delete(uid);
      resolve(pod ?? 'unknown');
    }
    clearTimeout(timer);
    timer = waiters.size > 0 ? setTimeout(look, everyMs) : undefined;
  }

  return {
    async await(uid) {
      waiters.get(uid)?.resolve('asked again');
      waiters.delete(uid);
      const pod = podOf(uid);
      if (pod) return pod;
      if (signal.aborted) return 'unknown';
      if (waiters.size >= most) return 'full';
      return new Promise((resolve) => {
        waiters.set(uid, { until: performance.now() + withinMs, resolve });
        timer ??= setTimeout(look, everyMs);
      });
    },
    waiting: () => waiters.size,
  };
}
