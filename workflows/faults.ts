/** Faults as they arrive in a workflow: checked by hand, cut to size, each kept once. */

import { type Action, actions, type Fault, faultLimits, type QuarantineStatus } from '../contract/faults/faults.ts';
import { isFaultSource } from '../contract/faults/sources.ts';
import { bytesOf } from '../contract/wire/signal-size.ts';

/** What a workflow keeps of one fault, so that hundreds fit into one payload whatever a node sends. */
const kept = { message: 300, because: 200, evidenceLines: 3, evidenceLine: 200, bytes: 4096 } as const;

/** The faults of a signal that can be used, and how many could not. A bad message never stops a workflow. */
export function takeFaults(payload: unknown): { faults: Fault[]; dropped: number } {
  const listed = isObject(payload) && Array.isArray(payload['faults']) ? payload['faults'] : undefined;
  if (listed === undefined) return { faults: [], dropped: 1 };
  const faults = listed.filter(isFault).map(slim).map(light);
  return { faults, dropped: listed.length - faults.length };
}

/** Adds faults to a list by id. A known fault takes its node's newer report, and loses `unobservable` once it arrives without. */
export function mergeFaults(known: Fault[], arrived: readonly Fault[]): { added: Fault[]; changed: Fault[] } {
  const added: Fault[] = [];
  const changed: Fault[] = [];
  for (const fault of arrived) {
    const at = known.findIndex((one) => one.id === fault.id);
    const before = known[at];
    if (before === undefined) {
      known.push(fault);
      added.push(fault);
    } else {
      const moved =
        fault.quarantine !== undefined &&
        (fault.quarantine.state !== before.quarantine?.state || fault.quarantine.because !== before.quarantine.because);
      const seen = before.unobservable !== undefined && fault.unobservable === undefined;
      if (!moved && !seen) continue;
      const { unobservable, ...rest } = before;
      known[at] = {
        ...rest,
        ...(unobservable !== undefined && !seen ? { unobservable } : {}),
        ...(moved ? { quarantine: fault.quarantine } : {}),
      };
      changed.push(fault);
    }
  }
  return { added, changed };
}

/** Faults of nodes before those of pods, which they explain; each in the order of arrival. */
export const nodesFirst = (faults: readonly Fault[]): Fault[] => [
  ...faults.filter((fault) => !fault.pod),
  ...faults.filter((fault) => fault.pod),
];

/** Names of the blamed nodes, each once, sorted. */
export const nodesOf = (faults: readonly Fault[]): string[] =>
  [...new Set(faults.flatMap((fault) => fault.node ?? []))].toSorted();

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text, cut to what may stand in history; undefined when there is none. */
export const textOf = (value: unknown, most = 500): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, most) : undefined;

const slim = (fault: Fault): Fault => ({
  ...fault,
  message: fault.message.slice(0, kept.message),
  ...(fault.quarantine
    ? { quarantine: { ...fault.quarantine, because: fault.quarantine.because.slice(0, kept.because) } }
    : {}),
  ...(fault.unobservable === undefined ? {} : { unobservable: fault.unobservable.slice(0, kept.because) }),
  ...(fault.evidence
    ? { evidence: fault.evidence.slice(0, kept.evidenceLines).map((line) => line.slice(0, kept.evidenceLine)) }
    : {}),
});

/** Drops the evidence if it makes the fault too large: JSON may need six bytes for a character. */
function light(fault: Fault): Fault {
  if (fault.evidence === undefined || bytesOf(fault) <= kept.bytes) return fault;
  const { evidence: _, ...rest } = fault;
  return rest;
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= most;
const isTime = (value: unknown): boolean => isText(value, 40) && !Number.isNaN(Date.parse(value));
const absentOr = (value: unknown, ok: (value: unknown) => boolean): boolean => value === undefined || ok(value);

const quarantineStates: readonly unknown[] = [
  'quarantined',
  'held',
  'observed',
  'released',
  'not-ready',
] satisfies QuarantineStatus['state'][];
const knownActions: readonly unknown[] = actions satisfies readonly Action[];

const isFault = (value: unknown): value is Fault =>
  isObject(value) &&
  isText(value['id'], faultLimits.id) &&
  isText(value['code'], faultLimits.code) &&
  typeof value['message'] === 'string' &&
  isFaultSource(value['source']) &&
  isTime(value['seenAt']) &&
  absentOr(value['node'], (node) => isText(node, 253)) &&
  absentOr(value['device'], (device) => isText(device, 64)) &&
  absentOr(value['action'], (action) => knownActions.includes(action)) &&
  absentOr(
    value['standing'],
    (standing) => standing === 'current' || standing === 'retired' || standing === 'unknown',
  ) &&
  absentOr(
    value['kernel'],
    (kernel) => isObject(kernel) && isText(kernel['bootId'], 64) && typeof kernel['sequence'] === 'number',
  ) &&
  absentOr(value['kernelUs'], Number.isSafeInteger) &&
  absentOr(
    value['pod'],
    (pod) => isObject(pod) && isText(pod['name'], 253) && isText(pod['uid'], 64) && isTime(pod['createdAt']),
  ) &&
  absentOr(value['job'], (job) => isText(job, 64)) &&
  absentOr(value['namespace'], (namespace) => isText(namespace, 63)) &&
  absentOr(value['unobservable'], (why) => typeof why === 'string') &&
  absentOr(
    value['quarantine'],
    (quarantine) =>
      isObject(quarantine) &&
      quarantineStates.includes(quarantine['state']) &&
      typeof quarantine['because'] === 'string',
  ) &&
  absentOr(value['evidence'], (lines) => Array.isArray(lines) && lines.every((line) => typeof line === 'string'));
