/** Remembers which sets of pods were announced to their workflows. A set consists of the pods that exist at the same time, and one of them represents it. */

export interface Announcements {
  /** This pod represents the set of the workflow from now on; returns what to call when Temporal has that, and when it is lost. */
  begin(id: string, uid: string): { readonly accepted: () => void; readonly lost: () => void };
  /** Whether the set of this pod was begun. */
  covers(id: string, uid: string): boolean;
  /** Whether Temporal knows of it. */
  isNotified(id: string, uid: string): boolean;
  /** A pod is deleted. If it represented its set, the survivors still belong to that set, and later pods do not. */
  left(id: string, uid: string, survivors: () => Iterable<string>): void;
  /** The workflow has no pod left. */
  end(id: string): void;
}

interface Announced {
  readonly uid: string;
  notified: boolean;
  /** Set once its pod is gone: the other pods of its set. */
  survivors?: ReadonlySet<string>;
}

export function openAnnouncements(): Announcements {
  /** By workflow. */
  const sets = new Map<string, Announced>();

  const covering = (id: string, uid: string): Announced | undefined => {
    const set = sets.get(id);
    return !set?.survivors || set.survivors.has(uid) ? set : undefined;
  };

  return {
    begin(id, uid) {
      const set: Announced = { uid, notified: false };
      sets.set(id, set);
      return {
        accepted: () => void (set.notified = true),
        lost: () => void (sets.get(id) === set && sets.delete(id)),
      };
    },
    covers: (id, uid) => covering(id, uid) !== undefined,
    isNotified: (id, uid) => covering(id, uid)?.notified === true,
    left(id, uid, survivors) {
      const set = sets.get(id);
      if (set?.uid === uid) set.survivors ??= new Set(survivors());
    },
    end: (id) => void sets.delete(id),
  };
}
