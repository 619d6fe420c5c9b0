/** What one incident knows about capacity for its next attempt. Pure bookkeeping. */

import type { CapacityDecision } from '../../../contract/recovery/plan.ts';
import type { CommonChange } from './step.ts';

/** Bounds of what one incident keeps, and of how often it tries. */
const most = { decisions: 20, standbyTries: 3 } as const;

/** How long found capacity counts: after that, others may have taken it. ms */
const foundForMs = 60_000;
/** A job that waited for capacity longer than this has trained on meanwhile. ms */
const longMs = 60_000;

export interface CapacityData {
  /** The last decisions. */
  readonly decisions: readonly CapacityDecision[];
  /** Standby nodes were taken, or tried often enough. */
  readonly standbyTaken: boolean;
  readonly standbyTries: number;
  /** Found, or not observable. `until`: ms; without it, until something changes. */
  readonly found?: undefined | { readonly until?: number; readonly revision: number };
  /** Since when looks have found too little, ms. */
  readonly shortSince?: number | undefined;
  readonly wait?: undefined | { readonly until: number; readonly times: number };
}

export type CapacityChange =
  | { readonly kind: 'decided'; readonly decision: CapacityDecision; readonly at: number }
  /** `revision`: from before the look. */
  | { readonly kind: 'found'; readonly revision: number; readonly at: number }
  /** It could not be observed: this counts until something changes, or the incident was held. */
  | { readonly kind: 'unknown'; readonly revision: number }
  /** It is looked up again. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'standbyNodesTaken'; readonly taken: number; readonly wanted: number }
  /** The deadline of the first wait holds, ms. */
  | { readonly kind: 'waiting'; readonly until: number };

export const noCapacityYet: CapacityData = { decisions: [], standbyTaken: false, standbyTries: 0 };

export function nextCapacity(data: CapacityData, change: CapacityChange | CommonChange): CapacityData {
  switch (change.kind) {
    case 'decided':
      return decided(data, change.decision, change.at);
    case 'found':
      return { ...data, shortSince: undefined, found: { until: change.at + foundForMs, revision: change.revision } };
    case 'unknown':
      return { ...data, found: { revision: change.revision } };
    case 'forgotten':
      return { ...data, found: undefined };
    case 'standbyNodesTaken': {
      // Fewer taken than wanted means another try, up to a bound.
      const standbyTries = data.standbyTries + 1;
      return {
        ...data,
        standbyTries,
        standbyTaken: change.taken >= change.wanted || standbyTries >= most.standbyTries,
      };
    }
    case 'waiting':
      return { ...data, wait: { until: data.wait?.until ?? change.until, times: (data.wait?.times ?? 0) + 1 } };
    case 'waited':
      return putOff(data, change.ms);
    case 'heldFor':
      return change.ms > 0 ? { ...putOff(data, change.ms), found: undefined } : data;
    case 'attemptStopped':
      return { ...data, found: undefined, shortSince: undefined, wait: undefined };
    case 'trainedOn':
      return data;
  }
}

/** Whether what was found still counts: for a limited time, and only while nothing changes. */
export const isKnown = ({ found }: CapacityData, revision: number, now: number): boolean =>
  found !== undefined && found.revision === revision && (found.until === undefined || now < found.until);

/** Whether the last look found too little. */
export const isShort = ({ shortSince }: CapacityData): boolean => shortSince !== undefined;

/** Whether there was none for long. */
export const waitedLong = ({ shortSince }: CapacityData, now: number): boolean =>
  shortSince !== undefined && now - shortSince > longMs;

function decided(data: CapacityData, decision: CapacityDecision, at: number): CapacityData {
  const before = data.decisions.at(-1)?.because === decision.because ? data.decisions.slice(0, -1) : data.decisions;
  const isFound = decision.kind === 'go' || decision.kind === 'shrink';
  return {
    ...data,
    decisions: [...before, decision].slice(-most.decisions),
    ...(isFound ? {} : { shortSince: data.shortSince ?? at }),
  };
}

/** Capacity was not looked up for this long, ms: the deadline of a wait moves by as much. */
const putOff = (data: CapacityData, ms: number): CapacityData =>
  data.wait ? { ...data, wait: { ...data.wait, until: data.wait.until + ms } } : data;
