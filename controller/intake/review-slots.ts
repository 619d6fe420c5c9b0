/** Limits how many tokens are reviewed at once, in total and for each sender. */

import { openRecent } from '../recent.ts';

/** The sender of a token, before anything of it is verified. */
export interface TokenSender {
  /** The address of its connection: unlike the token, it cannot be forged. */
  readonly from: string;
  /** What the token claims. */
  readonly podUid: string;
}

export interface ReviewSlots {
  /** Returns a function to call when the review is over; undefined when no slot is free. */
  take(sender: TokenSender): (() => void) | undefined;
  /** Its token was accepted. */
  accepted(sender: TokenSender): void;
}

/**
 * Together with those of preflight pods, which have as many of their own, 32 in all. An API server answers each in some milliseconds: that is
 * thousands a second, and little beside what it accepts from one client. Pods accepted before have some slots to themselves, and no address has
 * more than a few: forged tokens cost nothing to make, and must keep out neither known agents nor, after a change of the leader, new ones.
 */
const most = { all: 16, strangers: 12, address: 2 } as const;

/** `capacity`: number of accepted pods that are remembered. */
export function openReviewSlots(capacity: number): ReviewSlots {
  /** By pod: the address from which its token was accepted. A UID is no secret, so from another address it proves nothing. */
  const acceptedPods = openRecent<string>(capacity);
  /** Reviews under way, by address; those of known pods separately. */
  const underWay = new Map<string, number>();
  let all = 0;

  function leave(key: string): void {
    all -= 1;
    const left = (underWay.get(key) ?? 1) - 1;
    if (left > 0) underWay.set(key, left);
    else underWay.delete(key);
  }

  return {
    take({ from, podUid }) {
      const known = acceptedPods.get(podUid) === from;
      const key = `${known ? `${podUid} ` : ''}${from}`;
      const inUse = underWay.get(key) ?? 0;
      if (inUse >= most.address || all >= (known ? most.all : most.strangers)) return undefined;
      all += 1;
      underWay.set(key, inUse + 1);
      return () => leave(key);
    },
    accepted: ({ from, podUid }) => acceptedPods.put(podUid, from),
  };
}
