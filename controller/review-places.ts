/** How many tokens are being reviewed at once, and whose. */

import { openRecent } from './recent.ts';

/** Who asks, before anything of it is proven. */
export interface Asker {
  /** The address of its connection: unlike the token, it cannot be made up. */
  readonly from: string;
  /** What the token says. */
  readonly podUid: string;
}

export interface ReviewPlaces {
  /** Answers what to call when the review is over; undefined where there is no room. */
  take(asker: Asker): (() => void) | undefined;
  /** Its token was found good. */
  wasGood(asker: Asker): void;
}

/**
 * With those of preflight pods, who have as many of their own, 32 in all. An API server answers each in some milliseconds, so that this is
 * thousands a second, and little beside what it takes from one client. Pods that were let in before have some to themselves, and no address has
 * more than a few: forged tokens cost nothing to make, and must keep out neither agents that are known nor, after a change of the leader, others.
 */
const most = { all: 16, strangers: 12, address: 2 } as const;

/** `capacity`: pods that are remembered as good. */
export function openReviewPlaces(capacity: number): ReviewPlaces {
  /** By pod: the address from which its token was good. A UID is no secret, and from elsewhere it proves nothing. */
  const good = openRecent<string>(capacity);
  /** Reviews under way, by address; those of known pods apart. */
  const underWay = new Map<string, number>();
  let all = 0;

  function leave(place: string): void {
    all -= 1;
    const left = (underWay.get(place) ?? 1) - 1;
    if (left > 0) underWay.set(place, left);
    else underWay.delete(place);
  }

  return {
    take({ from, podUid }) {
      const known = good.get(podUid) === from;
      const place = `${known ? `${podUid} ` : ''}${from}`;
      const inUse = underWay.get(place) ?? 0;
      if (inUse >= most.address || all >= (known ? most.all : most.strangers)) return undefined;
      all += 1;
      underWay.set(place, inUse + 1);
      return () => leave(place);
    },
    wasGood: ({ from, podUid }) => good.put(podUid, from),
  };
}
