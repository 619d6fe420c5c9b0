/** Converts a kernel line to a fault, which the agent reports. */

import { type Fault, faultLimits, type KernelPosition } from '../../contract/faults/faults.ts';
import { classifyLine } from './classify.ts';
import { parseKernelLine } from './line.ts';
import { oneLine } from '../../contract/text.ts';

export interface ObservedKernelLine {
  /** In any of the forms of `kernel-line.ts`. */
  readonly line: string;
  readonly position: KernelPosition;
  readonly node: string;
  /** RFC 3339. */
  readonly seenAt: string;
  /** The lines before it, oldest first. */
  readonly evidence: readonly string[];
}

/** The fault of a line; undefined when it is none. The line itself is the last line of evidence. */
export function kernelFault({ line, position, node, seenAt, evidence }: ObservedKernelLine): Fault | undefined {
  const classified = classifyLine(line);
  if (!classified) return undefined;
  const around = [...evidence, line]
    .slice(-faultLimits.evidenceLines)
    .map((one) => oneLine(parseKernelLine(one).text, faultLimits.evidenceLine));
  return {
    id: `kernel/${position.bootId}/${position.sequence}`,
    source: 'kernel',
    code: `${classified.kind === 'other' ? 'kernel' : classified.kind}/${classified.code}`,
    message: classified.message,
    seenAt,
    node,
    ...(classified.pci !== null && { device: classified.pci }),
    action: classified.action,
    standing: classified.standing,
    kernel: position,
    evidence: around,
  };
}
