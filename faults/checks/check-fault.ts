/** Converts a finding of a check to a fault, which the agent reports. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { DueFinding } from './occurrence.ts';

export interface CheckedNode {
  readonly node: string;
  readonly bootId: string;
  /** RFC 3339. */
  readonly seenAt: string;
}

/** Its id has the boot and the begin: the same fault has the same id after a restart of the agent, and the next one another. */
export function checkFault({ finding, since }: DueFinding, { node, bootId, seenAt }: CheckedNode): Fault {
  const { source, code, device, action, standing, message } = finding;
  const kind = code.slice(code.indexOf('/') + 1);
  return {
    id: `${source}/${node}/${bootId.slice(0, 8)}/${kind}/${(device ?? 'node').slice(0, 40)}/${since}`,
    source,
    code,
    message,
    seenAt,
    node,
    ...(device !== undefined && { device }),
    ...(action !== undefined && { action }),
    ...(standing !== undefined && { standing }),
  };
}
