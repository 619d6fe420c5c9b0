/** A fault as a sentence: the same in every Event, log, record and page. */

import type { Fault } from './faults.ts';
import { traitsOf } from './sources.ts';

/** `xid/79 on gpu-3 (0000:5d:00): GPU has fallen off the bus`. */
export function faultSentence({
  code,
  node,
  device,
  message,
}: Pick<Fault, 'code' | 'node' | 'device' | 'message'>): string {
  const where = node === undefined ? '' : ` on ${node}${device === undefined ? '' : ` (${device})`}`;
  // The full stop of a driver's message does not end the sentence around it.
  return `${code}${where}: ${message.replace(/\.\s*$/, '')}`;
}

/** One sentence for all, about the fault that explains the others. */
export function faultsSentence(faults: readonly Fault[]): string {
  const [first] = faults.toSorted((a, b) => placeInSentence(a) - placeInSentence(b) || a.id.localeCompare(b.id));
  if (first === undefined) return 'no fault';
  return `${faultSentence(first)}${faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''}`;
}

/** An eviction or a drain explains how the containers of the pod ended. */
const takenAway: readonly string[] = ['pod/evicted', 'pod/disruption'];

/** Faults of nodes come first, because they explain those of pods. */
const placeInSentence = ({ source, code }: Fault): number =>
  traitsOf(source).about !== 'pod' ? 0 : takenAway.includes(code) ? 1 : 2;
