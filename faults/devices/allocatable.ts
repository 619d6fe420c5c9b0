/** Accelerators that a node offers, in one look. Capacity falls too when the device plugin restarts, so only a look at the past shows every loss. */

import type { Finding, Unobserved } from '../finding.ts';
import type { SeenNode } from '../conditions/node-object.ts';
import { isAccelerator } from './accelerator.ts';

/** One resource of a node. */
export interface DeviceCount {
  readonly resource: string;
  /** Undefined where the amount is missing or no whole number. */
  readonly allocatable: number | undefined;
  readonly capacity: number | undefined;
}

export const deviceCounts = ({ capacity, allocatable }: Pick<SeenNode, 'capacity' | 'allocatable'>): DeviceCount[] =>
  [...new Set([...Object.keys(capacity), ...Object.keys(allocatable)])]
    .filter(isAccelerator)
    .toSorted()
    .map((resource) => ({
      resource,
      allocatable: countOf(allocatable[resource]),
      capacity: countOf(capacity[resource]),
    }));

const countOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;

export const missingDevices = 'allocatable/missing-devices';

export interface Shortage {
  readonly node: string;
  readonly resource: string;
  readonly allocatable: number;
  readonly expected: number;
  /** Where the expected count comes from. */
  readonly because: string;
}

export const shortageFinding = ({ node, resource, allocatable, expected, because }: Shortage): Finding => ({
  source: 'allocatable',
  code: missingDevices,
  node,
  action: 'reset-gpu',
  message: `the node offers ${allocatable} of ${expected} ${resource}`,
  because: `${because}; a device plugin withdraws a device that it takes for broken`,
});

/** Why nothing is known of the devices: their device plugin is the observer. */
export const lostPlugin = (node: string, { resource, allocatable }: DeviceCount): Unobserved => ({
  source: 'allocatable',
  what: resource,
  node,
  because:
    allocatable === 0
      ? 'allocatable is 0: its device plugin is gone, or cannot see any device'
      : 'allocatable is missing or no whole number',
});

/** What one look says. */
export function readDevices(node: SeenNode): { readonly faults: Finding[]; readonly unobservable: Unobserved[] } {
  const faults: Finding[] = [];
  const unobservable: Unobserved[] = [];
  for (const count of deviceCounts(node)) {
    const { resource, allocatable, capacity } = count;
    if (allocatable === undefined || allocatable === 0) unobservable.push(lostPlugin(node.name, count));
    else if (capacity !== undefined && allocatable < capacity) {
      const because = `allocatable is ${allocatable} and capacity is ${capacity}; one look cannot see the largest count that the node has had`;
      faults.push(shortageFinding({ node: node.name, resource, allocatable, expected: capacity, because }));
    }
  }
  return { faults, unobservable };
}
