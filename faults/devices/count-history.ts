/** Accelerators of a node over time: how many it has had, and how often some of them were lost. Pure. */

import type { Unobserved } from '../finding.ts';
import type { StandingFault } from '../conditions/condition.ts';
import type { SeenNode } from '../conditions/node-object.ts';
import { deviceCounts, lostPlugin, shortageFinding } from './allocatable.ts';

/** Of one Node object. */
export interface CountHistory {
  readonly uid: string;
  readonly resources: Readonly<Record<string, ResourceHistory>>;
  /** The last release that is known. */
  readonly release: string | undefined;
}

/** What a release of the node has recorded. */
export interface JudgedCounts {
  /** Counts of accelerators by resource. */
  readonly allocatable: Readonly<Record<string, number>>;
  /** Another value for each release. */
  readonly release?: string;
}

/** A device plugin that starts may offer a device before it finds it broken: all devices must be offered for this long to count, ms. */
const steadyMs = 60_000;

interface ResourceHistory {
  /** The largest count of allocatable or capacity: both fall, and neither is ever too large. */
  readonly largest: number;
  /** Whether all were offered at the last look that saw any. */
  readonly complete: boolean;
  /** How often some were lost since the first look. */
  readonly losses: number;
  /** Since when all of them are offered, ms; undefined while some are not. */
  readonly completeSince: number | undefined;
  /** Whether all of them were offered for a while since the last release. */
  readonly wasComplete: boolean;
}

const firstLook: ResourceHistory = {
  largest: 0,
  complete: true,
  losses: 0,
  completeSince: undefined,
  wasComplete: false,
};

/** `now`: monotonic, ms. */
export function foldCounts(
  before: CountHistory | undefined,
  node: SeenNode,
  { release }: Pick<JudgedCounts, 'release'>,
  now: number,
): CountHistory {
  const known = before?.uid === node.uid ? before.resources : {};
  const isReleased = before !== undefined && before.release !== release;
  const resources = Object.fromEntries(
    deviceCounts(node).map(({ resource, allocatable = 0, capacity = 0 }) => {
      const last = known[resource] ?? firstLook;
      const largest = Math.max(last.largest, allocatable, capacity);
      // Without its plugin nothing is known, so the last look that saw devices stays.
      const complete = allocatable === 0 ? last.complete : allocatable >= largest;
      return [
        resource,
        {
          largest,
          complete,
          losses: last.losses + (last.complete && !complete ? 1 : 0),
          completeSince: complete && allocatable > 0 ? (last.completeSince ?? now) : undefined,
          wasComplete: !isReleased && (last.wasComplete || now - (last.completeSince ?? now) >= steadyMs),
        },
      ];
    }),
  );
  return { uid: node.uid, resources: { ...known, ...resources }, release };
}

export interface DeviceReading {
  readonly faults: readonly StandingFault[];
  readonly unobservable: readonly Unobserved[];
}

/** `judged`: the counts at the last release of the node. Neither they nor larger ones count again, unless all devices were offered since. */
export function missingDevices(
  node: SeenNode,
  { resources }: CountHistory,
  { allocatable: judged }: Pick<JudgedCounts, 'allocatable'>,
): DeviceReading {
  const faults: StandingFault[] = [];
  const unobservable: Unobserved[] = [];
  for (const count of deviceCounts(node)) {
    const { resource, allocatable } = count;
    const history = resources[resource];
    // Where none was offered, nothing was known of the devices.
    const atRelease = judged[resource] || Infinity;
    if (allocatable === undefined || allocatable === 0) unobservable.push(lostPlugin(node.name, count));
    else if (history && allocatable < history.largest && (history.wasComplete || allocatable < atRelease)) {
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
