/** Converts a finding of a watch to a fault. */

import type { Fault } from '../contract/faults/faults.ts';
import type { Finding } from './finding.ts';

/** What only an observer over time knows. */
export type Observation = Pick<Fault, 'id' | 'seenAt' | 'deadline'>;

export function foundFault({ because: _because, ...found }: Finding, observation: Observation): Fault {
  return { ...found, ...observation };
}
