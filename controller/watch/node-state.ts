/** Turns what others write on Node objects into faults of the node. */

import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { ConditionRules, StandingFault } from '../../faults/conditions/condition.ts';
import { nodeIn, type SeenNode } from '../../faults/conditions/node-object.ts';
import { goneConditions, readStanding, typesRead } from '../../faults/conditions/read-node.ts';
import { conditionTable } from '../../faults/conditions/table.ts';
import { deviceCounts } from '../../faults/devices/allocatable.ts';
import { type CountHistory, foldCounts, missingDevices } from '../../faults/devices/count-history.ts';
import { foundFault } from '../../faults/found-fault.ts';
import type { Unobserved } from '../../faults/finding.ts';
import { readJudgedState } from '../../kube/nodes/judged.ts';
import { readNode } from '../../kube/nodes/nodes.ts';
import type { ShownFault } from '../../policy/node/standing.ts';
import type { WatchContext } from './follow.ts';
import { retryWhileLeading } from './retry-while-leading.ts';
import { watchStanding } from './standing-faults.ts';
import { watchUnobservable } from './unobservable.ts';

type Node = Parameters<typeof readJudgedState>[0];
type Settings = ControllerSettings['nodes'];

export interface NodeStateOptions extends WatchContext {
  readonly settings: Settings;
  readonly send: (node: string, fault: Fault) => void;
}

export interface NodeStateWatch {
  /** A Node object as the watch saw it. */
  see(node: Node): void;
  forget(node: string): void;
  /** Whether the watch is up to date: nothing is sent otherwise. */
  setReachable(isReachable: boolean): void;
  /** How many devices of a resource the node offers; undefined where that is not known. */
  offered(node: string, resource: string): number | undefined;
}

/** What is remembered of a Node object. */
interface KnownNode {
  readonly seen: SeenNode;
  readonly counts: CountHistory;
  /** Types of conditions that it has had. */
  readonly types: ReadonlySet<string>;
}

interface NodeReading {
  readonly shown: readonly ShownFault[];
  readonly unobservable: readonly Unobserved[];
}

export function watchNodeState(options: NodeStateOptions): NodeStateWatch {
  const { settings, kube, send, log, signal } = options;
  const rules = rulesOf(settings.conditions);
  const nodes = new Map<string, KnownNode>();
  const unobservable = watchUnobservable(options);
  const standing = watchStanding({ notify: (node, fault) => void confirm(node, fault), log, signal });

  function read(object: Node): NodeReading {
    const seen = nodeIn(object);
    // A node without accelerators trains nothing. One that has lost all of them keeps the names of its resources.
    if (seen === undefined || deviceCounts(seen).length === 0) return { shown: [], unobservable: [] };
    const before = nodes.get(seen.name);
    const judged = readJudgedState(object);
    const counts = foldCounts(before?.counts, seen, judged, performance.now());
    const types = typesRead(before?.seen.uid === seen.uid ? before.types : new Set(), seen, rules);
    nodes.set(seen.name, { seen, counts, types });
    const { faults, unobservable: unknown } = readStanding(seen, rules);
    const devices = missingDevices(seen, counts, judged);
    const own = faults.filter(({ key }) => !judged.faults.includes(key));
    return {
      shown: [
        ...own.map((fault) => shownOf(fault, seen, settings.conditions.debounce)),
        ...devices.faults.map((fault) => shownOf(fault, seen, settings.allocatable.debounce)),
      ],
      unobservable: [...unknown, ...goneConditions(types, seen), ...devices.unobservable],
    };
  }

  /** A watch may stall unnoticed for a while: the node is read before the fault is sent. */
  async function confirm(node: string, fault: Fault): Promise<void> {
    const now = await retryWhileLeading(`read node ${node}`, options, async () => ({
      object: await readNode(kube, node),
    }));
    if (!now?.object || !read(now.object).shown.some((shown) => shown.fault.id === fault.id)) return;
    send(node, fault);
  }

  return {
    see(object) {
      const name = object.metadata?.name ?? '';
      const reading = read(object);
      unobservable.see(name, reading.unobservable);
      standing.see(name, reading.shown);
    },
    forget(node) {
      nodes.delete(node);
      unobservable.see(node, []);
      standing.forget(node);
    },
    setReachable: standing.setReachable,
    offered: (node, resource) =>
      deviceCounts(nodes.get(node)?.seen ?? { capacity: {}, allocatable: {} }).find((one) => one.resource === resource)
        ?.allocatable,
  };
}

/** The rows of the site come first, so that they replace those of kcover. */
const rulesOf = ({ own, off, nodesAreReplaced }: Settings['conditions']): ConditionRules => ({
  rows: [
    ...own.map(({ action, ...row }) => ({
      ...row,
      owner: 'this site' as const,
      ...(action !== undefined && { action }),
    })),
    ...conditionTable.filter(({ type }) => !off.includes(type)),
  ],
  nodesAreReplaced,
});

/** The same id for the same state, also from the next leader. */
const shownOf = (
  { finding, key, since, deadline, debounceMs }: StandingFault,
  node: SeenNode,
  usualMs: number,
): ShownFault => ({
  fault: foundFault(finding, {
    id: `${finding.source}/${node.uid}/${key}`,
    seenAt: since ?? new Date().toISOString(),
    ...(deadline !== undefined && { deadline }),
  }),
  debounceMs: Math.max(usualMs, debounceMs ?? 0),
});
