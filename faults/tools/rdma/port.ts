/** One look at the port of an RDMA device, by a tool. Whether the port was ACTIVE before is known only to the agent, which watches it by sysfs. */

import type { Finding, Findings } from '../../finding.ts';
import { deviceName, nothingRead, together, toolFinding, type ToolReading } from '../reading.ts';

export interface ToolPort {
  readonly device: string;
  readonly port: string;
  /** `Active`, `PORT_DOWN`: the word of the tool. */
  readonly state: string | undefined;
  readonly physState?: string | undefined;
  readonly rate?: string | undefined;
}

/** As the kernel names them; tools write them in their own way. */
const states: Readonly<Record<string, 'active' | 'inactive'>> = {
  active: 'active',
  activedefer: 'active',
  active_defer: 'active',
  armed: 'inactive',
  initializing: 'inactive',
  init: 'inactive',
  down: 'inactive',
};

const stateOf = (word: string): 'active' | 'inactive' | undefined => {
  const name = word.toLowerCase().replace(/^port_/, '');
  return Object.hasOwn(states, name) ? states[name] : undefined;
};

function judgePort(tool: string, { device, port, state, physState, rate }: ToolPort): Findings {
  const verdict = state === undefined ? undefined : stateOf(state);
  if (verdict === 'active') return { faults: [], unobservable: [] };
  if (verdict === undefined) {
    const because = state === undefined ? `${tool} prints no state` : `${tool} prints the state ${state.slice(0, 60)}`;
    return { faults: [], unobservable: [{ source: 'link', what: `port ${port} of ${device}`, because }] };
  }
  return { faults: [notActive(tool, { device, port, state, physState, rate })], unobservable: [] };
}

const notActive = (tool: string, { device, port, state, physState, rate }: ToolPort): Finding =>
  toolFinding({
    source: 'link',
    code: 'link/down',
    device: deviceName(device),
    oneLook: true,
    message: `${tool}: port ${port} of ${device} is ${state}${physState ? ` (${physState})` : ''}${rate ? `, rate ${rate}` : ''}`,
    because:
      'The port is not ACTIVE. One look cannot say whether it has no cable; the agent reports ports that were ACTIVE before.',
  });

export function judgePorts(tool: string, ports: readonly ToolPort[]): ToolReading {
  if (ports.length === 0) return nothingRead('link', tool, 'the output names no port of an RDMA device');
  return { devices: ports.length, ...together(ports.map((port) => judgePort(tool, port))) };
}
