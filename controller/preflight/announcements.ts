/** Which sets of pods their workflows were told of. A set is what lives together: it ends with the pod that stands for it. */

export interface Announcements {
  /** This pod stands for the set of the workflow from now on; answers what to call when Temporal has that, and when it is lost. */
  begin(id: string, uid: string): { readonly took: () => void; readonly lost: () => void };
  /** Whether the set of this pod was begun. */
  covers(id: string, uid: string): boolean;
  /** Whether Temporal knows of it. */
  isNotified(id: string, uid: string): boolean;
  /** A pod goes. If it stood for its set, these still belong to that, and later ones do not. */
  left(id: string, uid: string, survivors: () => Iterable<string>): void;
  /** None is left. */
  end(id: string): void;
}

interface Announced {
  readonly uid: string;
  notified: boolean;
  /** Set once its pod is gone: who lived with it. */
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
        took: () => void (set.notified = true),
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
