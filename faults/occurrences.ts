/** Tells one occurrence of a fault that an object shows from the next, however often it is read. Pure. */

import type { Finding } from './finding.ts';

/** A fault that an object shows. */
interface Shown {
  readonly finding: Finding;
  /** When it began, RFC 3339; absent where the object does not say it. */
  readonly since?: string;
}

/** A fault, with the end of its id. */
export interface Occurrence extends Shown {
  /** The same while the object shows it, also after a restart of kcover; another one when it comes back. */
  readonly key: string;
}

export interface Occurrences {
  /** Those of the last reading, by what they say. */
  readonly standing: ReadonlyMap<string, Occurrence>;
  /** How often a fault without a time was gone again. */
  readonly ended: ReadonlyMap<string, number>;
}

export const noOccurrences: Occurrences = { standing: new Map(), ended: new Map() };

/** Bound of what is remembered of faults that are over. */
const mostEnded = 256;

/** What a fault says: another level of the same code is another fault. */
export const subjectKey = ({ finding: { code, device, action, standing } }: Shown): string =>
  [device ?? 'node', code.slice(code.indexOf('/') + 1), action ?? standing ?? 'none'].join('/');

/**
 * One reading. A fault that stays keeps its key, although a restart of the device plugin gives it another time; faults that say the same count
 * once.
 */
export function foldOccurrences({ standing, ended }: Occurrences, faults: readonly Shown[]): Occurrences {
  const now = new Map<string, Occurrence>();
  for (const fault of faults) {
    const subject = subjectKey(fault);
    if (!now.has(subject))
      now.set(subject, standing.get(subject) ?? { ...fault, key: keyOf(fault, ended.get(subject) ?? 0) });
  }
  const gone = [...standing].filter(([subject, { since }]) => since === undefined && !now.has(subject));
  const counts = new Map(ended);
  for (const [subject] of gone) counts.set(subject, (ended.get(subject) ?? 0) + 1);
  return { standing: now, ended: new Map([...counts].slice(-mostEnded)) };
}

/** Without a time, the number of the occurrence tells it from the one before. */
function keyOf(fault: Shown, ended: number): string {
  const subject = subjectKey(fault);
  if (fault.since !== undefined) return `${subject}/${Date.parse(fault.since)}`;
  return ended === 0 ? subject : `${subject}${again}${ended}`;
}

const again = '/again-';

/** Whether an id was recorded at a release. A controller that has just begun to lead does not know how often the fault was gone before. */
export const isRecorded = (recorded: readonly string[], id: string): boolean =>
  recorded.some((one) => one === id || one.startsWith(`${id}${again}`));
