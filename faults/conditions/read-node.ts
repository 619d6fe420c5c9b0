/** What Node objects say when they are read once. */

import { nodeNotReady } from '../../contract/faults/faults.ts';
import type { Finding, Findings, Unobserved } from '../finding.ts';
import { foreignText } from '../foreign-text.ts';
import { readDevices } from '../devices/allocatable.ts';
import { type ConditionRules, defaultRules, type Reading, readCondition } from './condition.ts';
import { labelFaults } from './labels.ts';
import { nodeIn, type SeenNode } from './node-object.ts';
import { rowFor } from './row.ts';

/** Conditions and labels that other programs write on the node. */
export function readStanding(node: SeenNode, rules: ConditionRules): Reading {
  const read = node.conditions.map((condition) => readCondition(condition, node, rules));
  return {
    faults: [...read.flatMap(({ faults }) => faults), ...labelFaults(node)],
    unobservable: read.flatMap(({ unobservable }) => unobservable),
  };
}

/** Types with a row that the node has, or has had. */
export const typesRead = (
  before: ReadonlySet<string>,
  { conditions }: SeenNode,
  { rows }: ConditionRules,
): ReadonlySet<string> =>
  new Set([...before, ...conditions.flatMap(({ type }) => (rowFor(type, rows) === undefined ? [] : [type]))]);

/** Conditions that were there and are gone: the program that wrote them no longer does. */
export const goneConditions = (types: ReadonlySet<string>, { name, conditions }: SeenNode): readonly Unobserved[] =>
  [...types]
    .filter((type) => !conditions.some((condition) => condition.type === type))
    .map((type) => ({
      source: 'condition',
      what: foreignText(type, 60),
      node: name,
      because: 'the condition is gone',
    }));

/** A Node, or a list as `kubectl get nodes -o json` prints it; undefined when the value is neither. */
export function readNodes(value: unknown, rules: ConditionRules = defaultRules): Findings | undefined {
  const nodes = nodesIn(value);
  if (nodes === undefined) return undefined;
  const read = nodes.map((node) => readNode(node, rules));
  return {
    faults: read.flatMap(({ faults }) => faults),
    unobservable: read.flatMap(({ unobservable }) => unobservable),
  };
}

function nodesIn(value: unknown): readonly SeenNode[] | undefined {
  const items = typeof value === 'object' && value !== null && 'items' in value ? value.items : [value];
  if (!Array.isArray(items)) return undefined;
  const nodes = items.map(nodeIn);
  return nodes.every((node) => node !== undefined) ? nodes : undefined;
}

function readNode(node: SeenNode, rules: ConditionRules): Findings {
  const standing = readStanding(node, rules);
  const devices = readDevices(node);
  const ready = readReady(node);
  return {
    faults: [...ready.faults, ...standing.faults.map(({ finding }) => finding), ...devices.faults],
    unobservable: [...ready.unobservable, ...standing.unobservable, ...devices.unobservable],
  };
}

/** The controller reports it only after a while, and not while too many nodes are not ready at once. */
function readReady({ name, conditions }: SeenNode): {
  readonly faults: Finding[];
  readonly unobservable: Unobserved[];
} {
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'other') {
    const because = 'its kubelet has never reported the condition';
    return { faults: [], unobservable: [{ source: 'node', what: 'Ready', node: name, because }] };
  }
  if (ready.status === 'True') return { faults: [], unobservable: [] };
  const { status, transition, reason, message } = ready;
  const finding: Finding = {
    source: 'node',
    code: nodeNotReady,
    node: name,
    message: foreignText(`Ready is ${status} since ${transition} (${reason}): ${message}`, 500),
    because:
      'its kubelet does not answer; it counts once it has lasted for nodes.notReady, a setting of the controller',
  };
  return { faults: [finding], unobservable: [] };
}
