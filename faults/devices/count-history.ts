/** Accelerators of a node over time: how many it has had, and how often some of them were lost. Pure. */

import type { Unobserved } from '../finding.ts';
import type { StandingFault } from '../conditions/condition.ts';
import type { SeenNode } from '../conditions/node-object.ts';
import { deviceCounts, lostPlugin, shortageFinding } from './allocatable.ts';

/** Of one Node object. */
export interface CountHistory {
  readonly uid: string;
  readonly resources: Readonly<Record<string, ResourceHistory>>;
}

interface ResourceHistory {
  /** The largest count of allocatable or capacity: both fall, and neither is ever too large. */
  readonly largest: number;
  /** Whether all were offered at the last look that saw any. */
  readonly complete: boolean;
  /** How often some were lost since the first look. */
  readonly losses: number;
  /** Whether all of them were offered at any look. */
  readonly wasComplete: boolean;
}

export function foldCounts(before: CountHistory | undefined, node: SeenNode): CountHistory {
  const known = before?.uid === node.uid ? before.resources : {};
  const resources = Object.fromEntries(
    deviceCounts(node).map(({ resource, allocatable = 0, capacity = 0 }) => {
      const last = known[resource] ?? { largest: 0, complete: true, losses: 0, wasComplete: false };
      const largest = Math.max(last.largest, allocatable, capacity);
      // Without its plugin nothing is known, so the last look that saw devices stays.
      const complete = allocatable === 0 ? last.complete : allocatable >= largest;
      return [
        resource,
        {
          largest,
          complete,
          losses: last.losses + (last.complete && !complete ? 1 : 0),
          wasComplete: last.wasComplete || (complete && allocatable > 0),
        },
      ];
    }),
  );
  return { uid: node.uid, resources: { ...known, ...resources } };
}

export interface DeviceReading {
  readonly faults: readonly StandingFault[];
  readonly unobservable: readonly Unobserved[];
}

/** `judged`: the counts at the last release of the node. They do not count again, unless all devices were offered since. */
export function missingDevices(
  node: SeenNode,
  { resources }: CountHistory,
  judged: Readonly<Record<string, number>>,
): DeviceReading {
  const faults: StandingFault[] = [];
  const unobservable: Unobserved[] = [];
  for (const count of deviceCounts(node)) {
    const { resource, allocatable } = count;
    const history = resources[resource];
    if (allocatable === undefined || allocatable === 0) unobservable.push(lostPlugin(node.name, count));
    else if (history && allocatable < history.largest && (history.wasComplete || judged[resource] !== allocatable)) {
      const { largest, losses } = history;
      const because = `the node has had ${largest} of them since its Node object was created`;
      faults.push({
        finding: shortageFinding({ node: node.name, resource, allocatable, expected: largest, because }),
        // The object has no time of the loss; the boot and the number of the loss tell one from the next.
        key: `${resource}/${allocatable}-of-${largest}/${node.bootId.slice(0, 8)}/${losses}`,
      });
    }
  }
  return { faults, unobservable };
}
