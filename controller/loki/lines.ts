/** From lines of Loki to kernel faults of nodes. */

import { createHash } from 'node:crypto';
import type { Fault } from '../../contract/faults/faults.ts';
import { isObjectName } from '../../contract/object-names.ts';
import { kernelTextOf } from '../../faults/kernel/journal.ts';
import { shippedKernelFault } from '../../faults/kernel/from-kernel.ts';
import { parseKernelLine } from '../../faults/kernel/line.ts';
import type { Addressee } from '../outbox/messages.ts';
import type { LokiLine } from './answer.ts';

export interface NodeNames {
  /** Label or structured metadata that names the node. */
  readonly nodeLabel: string;
  /** Whether Kubernetes has a node of this name. */
  readonly isNode: (name: string) => boolean;
  /** Whether only a node itself can write lines with its name. */
  readonly trusted: boolean;
}

/** Why a line that a query selects is no fault. */
export type Refusal = 'user-space' | 'no-node' | 'unknown-node' | 'no-pod' | 'other-pod' | 'not-opted-in';

/** `ordinary`: nothing is wrong with the line. */
export type LineResult =
  | { readonly kind: 'fault'; readonly fault: Fault; readonly to: Addressee }
  | { readonly kind: 'ordinary' | Refusal };

export function resultOf(line: LokiLine, { nodeLabel, isNode, trusted }: NodeNames): LineResult {
  const text = kernelTextOf(line.text);
  const node = line.labels[nodeLabel] ?? '';
  const seenAt = new Date(Number(line.at / 1_000_000n)).toISOString();
  const fault = shippedKernelFault({ line: text, node, seenAt, id: idOf(line, node, text, trusted) });
  if (!fault) return { kind: 'ordinary' };
  if (parseKernelLine(text).userSpace) return { kind: 'user-space' };
  if (!isObjectName(node)) return { kind: 'no-node' };
  if (!isNode(node)) return { kind: 'unknown-node' };
  return { kind: 'fault', fault: trusted ? fault : { ...fault, untrusted: true }, to: { kind: 'node', node } };
}

/**
 * The same however often, and in however many streams, Loki has the line. The kernel's own time counts where the line shows it: a shipper
 * that starts again sends old lines with new times. A line that is trusted is another fault than the same line that is not.
 */
function idOf({ at }: LokiLine, node: string, text: string, trusted: boolean): string {
  const { text: words, monotonicUs } = parseKernelLine(text);
  const time = monotonicUs === undefined ? `at ${at}` : `kernel ${monotonicUs}`;
  const content = [node, time, words, ...(trusted ? [] : ['untrusted'])].join('\0');
  return `kernel/loki/${createHash('sha256').update(content).digest('hex').slice(0, 32)}`;
}
