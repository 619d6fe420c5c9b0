/** What stood on a node when it was released: it does not count again, as its writer may never set it back. */

import type { V1Node } from '@kubernetes/client-node';
import { annotations } from '../../contract/ids.ts';
import { defaultRules, keyOf } from '../../faults/conditions/condition.ts';
import { nodeIn } from '../../faults/conditions/node-object.ts';
import { readStanding } from '../../faults/conditions/read-node.ts';
import { deviceCounts } from '../../faults/devices/allocatable.ts';

export interface JudgedState {
  /** Keys of standing faults. */
  readonly faults: readonly string[];
  /** Counts of accelerators by resource. */
  readonly allocatable: Readonly<Record<string, number>>;
  /** Ids of faults that stand in other objects, of this release and of earlier ones. */
  readonly reported?: readonly string[];
  /** Version of the Node object that was released: another one for each release. */
  readonly release?: string;
}

/** Bound of the annotation: a node has a handful of conditions. Of `reported`, the newest stay. */
const mostFaults = 100;
const nothing: JudgedState = { faults: [], allocatable: {} };

/**
 * The annotation that a release writes. `fresh`: ids of the faults of the quarantine that the Node object does not show. The rows of a site are
 * not known here, so every condition has the key that such a row gives it.
 */
export function judgedStateOf(
  node: V1Node,
  fresh: readonly string[] = [],
): { readonly [annotations.judgedState]: string } | undefined {
  const seen = nodeIn(node);
  const reported = [...new Set([...(readJudgedState(node).reported ?? []), ...fresh])].slice(-mostFaults);
  if (seen === undefined) return undefined;
  if (seen.conditions.length === 0 && deviceCounts(seen).length === 0 && reported.length === 0) return undefined;
  const keys = [
    ...readStanding(seen, defaultRules).faults.map(({ key }) => key),
    ...seen.conditions.map((one) => keyOf(one)),
  ];
  const state: JudgedState = {
    faults: [...new Set(keys)].slice(0, mostFaults),
    allocatable: Object.fromEntries(
      deviceCounts(seen).map(({ resource, allocatable }) => [resource, allocatable ?? 0]),
    ),
    ...(reported.length > 0 && { reported }),
    ...(node.metadata?.resourceVersion !== undefined && { release: node.metadata.resourceVersion }),
  };
  return { [annotations.judgedState]: JSON.stringify(state) };
}

/** Where another client has edited it, nothing counts as judged: a fault is reported once more rather than lost. */
export function readJudgedState(node: V1Node): JudgedState {
  try {
    const value: unknown = JSON.parse(node.metadata?.annotations?.[annotations.judgedState] ?? 'null');
    return isJudgedState(value) ? value : nothing;
  } catch {
    return nothing;
  }
}

const isJudgedState = (value: unknown): value is JudgedState =>
  typeof value === 'object' &&
  value !== null &&
  'faults' in value &&
  Array.isArray(value.faults) &&
  'allocatable' in value &&
  typeof value.allocatable === 'object' &&
  value.allocatable !== null &&
  (!('reported' in value) || (Array.isArray(value.reported) && value.reported.every((id) => typeof id === 'string'))) &&
  (!('release' in value) || typeof value.release === 'string');
