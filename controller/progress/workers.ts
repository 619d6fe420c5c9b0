/** How many pods of each job work, those included that have no rank. */

export interface Workers {
  /** `owner`: UID of the job that controls the pod. */
  put(owner: string, pod: string, works: boolean): void;
  of(job: string): number;
  /** The job, by UID, is known by now: what it owns may belong to one that made it. */
  lookAgain(owner: string): void;
}

/** `topOf`: UID of the job itself, or of the one that made it. */
export function countWorkers(topOf: (owner: string) => string): Workers {
  const working = new Map<string, Set<string>>();

  function lookAgain(owner: string): void {
    const [pods, top] = [working.get(owner), topOf(owner)];
    if (!pods || top === owner) return;
    working.delete(owner);
    working.set(top, new Set([...(working.get(top) ?? []), ...pods]));
  }

  return {
    put(owner, pod, works) {
      const top = topOf(owner);
      const pods = working.get(top) ?? new Set();
      if (works) working.set(top, pods.add(pod));
      else if (pods.delete(pod) && pods.size === 0) working.delete(top);
    },
    of: (job) => working.get(job)?.size ?? 0,
    lookAgain,
  };
}
