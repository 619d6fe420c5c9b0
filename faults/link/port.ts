/** Interpretation of what sysfs says about the ports of RDMA devices: `/sys/class/infiniband/<device>/ports/<port>/`. */

import { parsePciAddress } from '../kernel/pci-address.ts';

/** State of one port at one time. `gone`: its device is no longer there. */
export type PortState =
  | { readonly kind: 'active' }
  | { readonly kind: 'inactive'; readonly state: string; readonly physState: string }
  | { readonly kind: 'gone' };

/** Logical states by their number in `state`. The kernel's names; 0 (NOP) says nothing about the port, so it is none of them. */
const states: Readonly<Record<string, string>> = { 1: 'DOWN', 2: 'INIT', 3: 'ARMED', 4: 'ACTIVE', 5: 'ACTIVE_DEFER' };

/** A port in ACTIVE_DEFER repairs its physical link and returns to ACTIVE, or goes DOWN. */
const activeStates: readonly string[] = ['ACTIVE', 'ACTIVE_DEFER'];

/** The name in `4: ACTIVE`; undefined for every other form. */
export function parseState(text: string): string | undefined {
  const [, number = '', name] = /^(\d): ([A-Z_]{1,20})\n?$/.exec(text) ?? [];
  return name !== undefined && states[number] === name ? name : undefined;
}

export const isActive = (state: string): boolean => activeStates.includes(state);

/** The name in `5: LinkUp`; undefined for every other form. It only explains a state, so names are not compared. */
export const parsePhysState = (text: string): string | undefined => /^\d{1,3}: ([\w<> ]{1,40})\n?$/.exec(text)?.[1];

/** Undefined when it is none of the kernel's. `Unknown` is what EFA devices say. */
export const parseLinkLayer = (text: string): string | undefined =>
  /^(InfiniBand|Ethernet|Unknown)\n?$/.exec(text)?.[1];

/** PCI address of the device that a path in /sys/devices belongs to: that of the card, not of the bridges above it. */
export function pciOf(path: string): string | undefined {
  const [, card = ''] = /\/([^/]+)\/infiniband\/[^/]+$/.exec(path) ?? [];
  return parsePciAddress(card) ?? undefined;
}

/** Whether a name of the settings, in which `*` stands for any characters, is that of the device. Takes linear time. */
export function matchesDevice(pattern: string, device: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return device === pattern;
  if (!device.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = device.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return device.length - last.length >= at && device.endsWith(last);
}
