/** Sets of pods that change one by one: each pod is in at most one of them. */

export interface Members {
  put(id: string, uid: string): void;
  leave(uid: string): void;
  /** UIDs of the pods of this workflow. */
  of(id: string): ReadonlySet<string>;
}

const none: ReadonlySet<string> = new Set();

export function openMembers(): Members {
  const byId = new Map<string, Set<string>>();
  const idOf = new Map<string, string>();

  function leave(uid: string): void {
    const id = idOf.get(uid) ?? '';
    idOf.delete(uid);
    const uids = byId.get(id);
    uids?.delete(uid);
    if (uids?.size === 0) byId.delete(id);
  }

  return {
    put(id, uid) {
      if (idOf.get(uid) === id) return;
      leave(uid);
      idOf.set(uid, id);
      byId.set(id, (byId.get(id) ?? new Set()).add(uid));
    },
    leave,
    of: (id) => byId.get(id) ?? none,
  };
}
