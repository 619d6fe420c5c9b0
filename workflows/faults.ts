/** Faults as they arrive in a workflow: checked by hand, cut to size, each kept once. */

import { actions, type Fault, faultLimits as most, quarantineStates, standings } from '../contract/faults/faults.ts';
import { isFaultSource } from '../contract/faults/sources.ts';
import type { Suspect } from '../contract/recovery/evidence.ts';
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
  ...(fault.witnesses
    ? { witnesses: fault.witnesses.slice(0, most.witnesses).map((line) => line.slice(0, most.witness)) }
    : {}),
  ...(fault.suspects ? { suspects: fault.suspects.slice(0, most.suspects).map(slimSuspect) } : {}),
});

const slimSuspect = ({ pod, node, rank, because }: Suspect): Suspect => ({
  pod,
  ...(node === undefined ? {} : { node }),
  ...(rank === undefined ? {} : { rank }),
  because: because.slice(0, most.witness),
});

/** Drops the evidence if it makes the fault too large: JSON may need six bytes for a character. */
function light(fault: Fault): Fault {
  if (fault.evidence === undefined || bytesOf(fault) <= kept.bytes) return fault;
  const { evidence: _, ...rest } = fault;
  return rest;
}

const isText = (value: unknown, most: number): boolean =>
  typeof value === 'string' && value.length > 0 && value.length <= most;
const isString = (value: unknown): boolean => typeof value === 'string';
const isTime = (value: unknown): boolean => isText(value, most.time) && !Number.isNaN(Date.parse(value as string));
const isOneOf = (known: readonly unknown[], value: unknown): boolean => known.includes(value);
const absentOr =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || check(value);

const isLines = (value: unknown): boolean => Array.isArray(value) && value.every(isString);
const hasRank = absentOr(Number.isSafeInteger);
const hasNode = absentOr((node) => isText(node, most.name));
const isSuspect = (value: unknown): boolean =>
  isObject(value) &&
  isText(value['pod'], most.name) &&
  hasRank(value['rank']) &&
  hasNode(value['node']) &&
  isString(value['because']);

/** One check for each field. Long texts are cut later, so only what is used as a key or a name is bounded here. */
const checks = {
  id: (id) => isText(id, most.id),
  source: isFaultSource,
  code: (code) => isText(code, most.code),
  message: isString,
  seenAt: isTime,
  node: hasNode,
  device: absentOr((device) => isText(device, most.identifier)),
  action: absentOr((action) => isOneOf(actions, action)),
  standing: absentOr((standing) => isOneOf(standings, standing)),
  kernel: absentOr(
    (kernel) => isObject(kernel) && isText(kernel['bootId'], most.identifier) && typeof kernel['sequence'] === 'number',
  ),
  kernelUs: absentOr(Number.isSafeInteger),
  untrusted: absentOr((untrusted) => untrusted === true),
  pod: absentOr(
    (pod) =>
      isObject(pod) &&
      isText(pod['name'], most.name) &&
      isText(pod['uid'], most.identifier) &&
      isTime(pod['createdAt']),
  ),
  quarantine: absentOr(
    (quarantine) =>
      isObject(quarantine) &&
      isOneOf(quarantineStates, quarantine['state']) &&
      isString(quarantine['because']) &&
      absentOr((storm) => isText(storm, most.storm))(quarantine['storm']),
  ),
  job: absentOr((job) => isText(job, most.identifier)),
  namespace: absentOr((namespace) => isText(namespace, most.namespace)),
  unobservable: absentOr(isString),
  deadline: absentOr(isTime),
  evidence: absentOr(isLines),
  witnesses: absentOr(isLines),
  suspects: absentOr((suspects) => Array.isArray(suspects) && suspects.every(isSuspect)),
} satisfies Record<keyof Fault, (value: unknown) => boolean>;

const isFault = (value: unknown): value is Fault =>
  isObject(value) && Object.entries(checks).every(([field, check]) => check(value[field]));
