/** The parts of a Node object that say something about faults. The object may come from a file, so nothing about it is taken for granted. */

import { oneLine } from '../../contract/text.ts';

export interface SeenCondition {
  readonly type: string;
  /** `other`: none that Kubernetes knows. */
  readonly status: 'True' | 'False' | 'Unknown' | 'other';
  readonly reason: string;
  readonly message: string;
  /** When its status changed, RFC 3339; as it is written where it is no time, and empty where there is none. */
  readonly transition: string;
}

export interface SeenNode {
  readonly name: string;
  readonly uid: string;
  /** Changes with each boot; empty where the kubelet does not report it. */
  readonly bootId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly conditions: readonly SeenCondition[];
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Names of nodes, and values of labels and resources, are at most this long. */
const mostName = 253;
/** The messages of some writers grow with every event. */
const mostMessage = 16_384;
const most = { conditions: 100, entries: 1000 } as const;

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const textOf = (value: unknown, longest = mostName): string =>
  typeof value === 'string' ? value.slice(0, longest) : '';

/** Undefined when it is no Node object. */
export function nodeIn(value: unknown): SeenNode | undefined {
  const { kind, metadata, status } = fieldsOf(value);
  // Members of a list have no kind of their own in the answers of the API server.
  if (kind !== undefined && kind !== 'Node') return undefined;
  const { name, uid, labels } = fieldsOf(metadata);
  if (typeof name !== 'string' || name === '') return undefined;
  const { conditions, capacity, allocatable, nodeInfo } = fieldsOf(status);
  return {
    name: oneLine(name, mostName),
    uid: oneLine(textOf(uid), 64),
    bootId: oneLine(textOf(fieldsOf(nodeInfo)['bootID']), 64),
    labels: textsOf(labels),
    conditions: (Array.isArray(conditions) ? conditions.slice(0, most.conditions) : []).map(conditionOf),
    capacity: textsOf(capacity),
    allocatable: textsOf(allocatable),
  };
}

function conditionOf(value: unknown): SeenCondition {
  const { type, status, reason, message, lastTransitionTime } = fieldsOf(value);
  return {
    type: textOf(type),
    status: status === 'True' || status === 'False' || status === 'Unknown' ? status : 'other',
    reason: oneLine(textOf(reason, 2000), mostName),
    message: textOf(message, mostMessage),
    transition: timeOf(lastTransitionTime),
  };
}

/** Some writers put spaces into their times. */
function timeOf(value: unknown): string {
  if (value instanceof Date) return formatted(value) ?? '';
  const written = textOf(value, 60);
  return formatted(new Date(written)) ?? formatted(new Date(written.replaceAll(' ', ''))) ?? oneLine(written, 40);
}

const formatted = (time: Date): string | undefined =>
  Number.isNaN(time.getTime()) ? undefined : time.toISOString().replace('.000Z', 'Z');

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fieldsOf(value))
      .slice(0, most.entries)
      .flatMap(([name, text]) => (typeof text === 'string' ? [[name.slice(0, 320), text.slice(0, mostName)]] : [])),
  );
