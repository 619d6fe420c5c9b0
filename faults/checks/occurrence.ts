/**
 * What a check finds from one look to the next. A finding becomes a fault after some looks in a row, so that one wrong answer of a tool is none; it is
 * the same fault until it was absent twice in a row, so that one look without it does not make a second fault.
 */

import type { Finding } from '../finding.ts';

/** A finding as it is kept between looks. */
export interface Occurrence {
  readonly code: string;
  readonly device: string;
  /** RFC 3339: the first look in a row that found it. A part of the id of its fault. */
  readonly since: string;
  readonly looks: number;
  /** Looks in a row without it, since it was reported. */
  readonly absent: number;
  readonly reported: boolean;
}

export interface DueFinding {
  readonly finding: Finding;
  readonly since: string;
}

export interface Compared {
  readonly occurrences: readonly Occurrence[];
  /** Findings that are faults now. */
  readonly due: readonly DueFinding[];
}

/** Most findings that are kept: a node has at most so many devices and codes. */
const mostOccurrences = 200;
/** Looks without a reported finding after which its next one is another fault. */
const absentLooks = 2;

const keyOf = ({ code, device = '' }: { readonly code: string; readonly device?: string | undefined }): string =>
  `${code} ${device}`;

export interface Look {
  readonly findings: readonly Finding[];
  /** False where something could not be looked at: what is absent then may still be there. */
  readonly complete: boolean;
  /** RFC 3339. */
  readonly at: string;
}

/** `needed`: looks in a row before the finding is a fault. */
export function compareLooks(
  before: readonly Occurrence[],
  { findings, complete, at: now }: Look,
  needed: (finding: Finding) => number,
): Compared {
  const known = new Map(before.map((one) => [keyOf(one), one]));
  const found = new Map(findings.slice(0, mostOccurrences).map((finding) => [keyOf(finding), finding]));
  const present = [...found].map(([key, finding]) => {
    const earlier = known.get(key);
    const looks = (earlier?.looks ?? 0) + 1;
    const isDue = earlier?.reported !== true && looks >= needed(finding);
    const occurrence: Occurrence = {
      code: finding.code,
      device: finding.device ?? '',
      since: earlier?.since ?? now,
      looks: Math.min(looks, 1000),
      absent: 0,
      reported: isDue || earlier?.reported === true,
    };
    return { occurrence, finding, isDue };
  });
  const unseen = before.filter((one) => !found.has(keyOf(one)));
  const absent = complete
    ? unseen
        .filter((one) => one.reported && one.absent + 1 < absentLooks)
        .map((one) => ({ ...one, absent: one.absent + 1 }))
    : unseen;
  return {
    occurrences: [...present.map(({ occurrence }) => occurrence), ...absent].slice(0, mostOccurrences),
    due: present.flatMap(({ isDue, finding, occurrence: { since } }) => (isDue ? [{ finding, since }] : [])),
  };
}
