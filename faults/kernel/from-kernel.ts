/** Converts a kernel line to a fault, whether the agent reads it or a log store has it. */

import { type Fault, faultLimits, type KernelPosition } from '../../contract/faults/faults.ts';
import { classifyLine } from './classify.ts';
import { parseKernelLine } from './line.ts';
import { oneLine } from '../../contract/text.ts';

interface SeenKernelLine {
  /** In any of the forms of `line.ts`. */
  readonly line: string;
  readonly node: string;
  /** RFC 3339. */
  readonly seenAt: string;
}

export interface ObservedKernelLine extends SeenKernelLine {
  readonly position: KernelPosition;
  /** The lines before it, oldest first. */
  readonly evidence: readonly string[];
}

export interface ShippedKernelLine extends SeenKernelLine {
  readonly id: string;
}

/** The fault of a line; undefined when it is none. The line itself is the last line of evidence. */
export function kernelFault({ position, ...seen }: ObservedKernelLine): Fault | undefined {
  return faultOf(`kernel/${position.bootId}/${position.sequence}`, seen, seen.evidence, { kernel: position });
}

/** The same for a line without a position, which was shipped to a log store. */
export const shippedKernelFault = ({ id, ...seen }: ShippedKernelLine): Fault | undefined => faultOf(id, seen, [], {});

function faultOf(
  id: string,
  { line, node, seenAt }: SeenKernelLine,
  before: readonly string[],
  position: Pick<Fault, 'kernel'>,
): Fault | undefined {
  const classified = classifyLine(line);
  if (!classified) return undefined;
  const { monotonicUs } = parseKernelLine(line);
  return {
    id,
    source: 'kernel',
    code: `${classified.kind === 'other' ? 'kernel' : classified.kind}/${classified.code}`,
    message: classified.message,
    seenAt,
    node,
    ...(classified.pci !== null && { device: classified.pci }),
    action: classified.action,
    standing: classified.standing,
    ...position,
    ...(monotonicUs !== undefined && { kernelUs: monotonicUs }),
    evidence: [...before, line]
      .slice(-faultLimits.evidenceLines)
      .map((one) => oneLine(parseKernelLine(one).text, faultLimits.evidenceLine)),
  };
}
