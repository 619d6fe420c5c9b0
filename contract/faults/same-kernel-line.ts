/** Two observers of one kernel line: the agent, which reads the log itself, and a log store to which another program ships it. */

import type { Fault } from './faults.ts';
import { traitsOf } from './sources.ts';

/** How far apart the two may see a line that does not show when the kernel wrote it, ms. */
const apartMs = 10_000;

/**
 * Whether one line of a node's kernel log was seen by both observers. Only the agent knows the position of a line, so two faults with a
 * position, and two without, are distinguished by their ids. The kernel's own time decides where both have it; else the same text of the same
 * device within seconds, because both clocks are the node's.
 */
export function isSameKernelLine(a: Fault, b: Fault): boolean {
  if (a.source !== b.source || !traitsOf(a.source).hasPosition) return false;
  if ((a.kernel === undefined) === (b.kernel === undefined)) return false;
  if (a.node !== b.node || a.code !== b.code || a.device !== b.device) return false;
  if (a.kernelUs !== undefined && b.kernelUs !== undefined) return a.kernelUs === b.kernelUs;
  return a.message === b.message && Math.abs(Date.parse(a.seenAt) - Date.parse(b.seenAt)) <= apartMs;
}
