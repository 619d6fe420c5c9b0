/** Converts a finding about a port to a fault, which the agent reports. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { type Fault, faultLimits } from '../../contract/faults/faults.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import { oneLine } from '../../contract/text.ts';
import type { PortState } from './port.ts';
import { flapping, type Instant, type PortFinding, type PortLimits } from './port-history.ts';

/** A port, and what stays the same about it. */
export interface LinkPort {
  /** Name of its RDMA device. */
  readonly device: string;
  readonly port: number;
  readonly layer: string;
  readonly pci?: string | undefined;
}

export interface LinkFinding {
  readonly node: string;
  readonly port: LinkPort;
  readonly finding: PortFinding;
  readonly state: PortState;
  readonly now: Instant;
  readonly limits: PortLimits;
}

/** Its id has the begin of the fall: the next one is another fault, and the same one has the same id after a restart of the agent. */
export function linkFault(found: LinkFinding): Fault {
  const { node, port, finding, now } = found;
  const { kind, since } = finding;
  const code = `link/${kind}`;
  const action = traitsOf('link').actions?.[code];
  return {
    id: `link/${node}/${port.device}/${port.port}/${kind}/${since}`,
    source: 'link',
    code,
    message: oneLine(messageOf(found), faultLimits.message),
    seenAt: now.time,
    node,
    ...(port.pci !== undefined && { device: port.pci }),
    ...(action !== undefined && { action }),
  };
}

function messageOf({ port, finding: { kind, since }, state, limits }: LinkFinding): string {
  const name = `${port.layer} link ${port.device} port ${port.port}`;
  if (kind === 'gone') return `${name} is gone since ${since}`;
  if (kind === 'down')
    return `${name} is ${state.kind === 'inactive' ? `${state.state} (${state.physState})` : 'not ACTIVE'} since ${since}`;
  const times = `${flapping.falls} times within ${formatDuration(flapping.withinMs)}`;
  return `${name} was down ${times}, each time for less than ${formatDuration(limits.downMs)}, the last time since ${since}`;
}
