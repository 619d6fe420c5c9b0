import type {
  Amounts,
  Labels,
  NodeCapacity,
  PlacementTaint,
  PlacementToleration,
  PodShape,
  Requirement,
  PlacementFacts,
} from '../../contract/recovery/placement.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';

/** What `decideCapacity` decides from. `standbyTaint`: key of the taint of standby nodes. */
export function capacityOf({ nodes, shapes, sizes }: PlacementFacts, standbyTaint: string): CapacityFacts {
  const { fixedFit, ...placement } = placePods(nodes, shapes, standbyTaint);
  // A smaller job needs its fixed pods too, so it does not help while these do not fit.
  return { ...placement, ...(sizes && fixedFit && { sizes }) };
}

export interface Placement extends Omit<CapacityFacts, 'sizes'> {
  /** All pods that do not scale with the job's size fit. */
  readonly fixedFit: boolean;
}

/**
 * Places pods on nodes as the scheduler could, with the same filters: taints, cordons, readiness, labels and free resources.
 * Best fit, and deterministic. A standby node has a taint with the key `standbyTaint`; it is used after all others.
 */
export function placePods(
  nodes: readonly NodeCapacity[],
  shapes: readonly PodShape[],
  standbyTaint: string,
): Placement {
  const plain = fillBest(nodes, shapes, new Set());
  const standbyByName = new Map(
    nodes.filter((node) => isStandby(node, standbyTaint)).map((node) => [node.name, withoutTaint(node, standbyTaint)]),
  );
  const all =
    standbyByName.size === 0
      ? plain
      : fillBest(
          nodes.map((node) => standbyByName.get(node.name) ?? node),
          shapes,
          new Set(standbyByName.keys()),
        );
  return {
    needed: sum(shapes.map(({ count }) => count)),
    fit: plain.fit,
    fixedFit: plain.fixedFit,
    fitWithStandby: all.fit,
    standbyNodes: [...all.used].filter((name) => standbyByName.has(name)).toSorted(),
    because: obstacles(nodes, plain),
  };
}

const isStandby = ({ taints }: NodeCapacity, key: string): boolean => taints.some((taint) => taint.key === key);
const withoutTaint = (node: NodeCapacity, key: string): NodeCapacity => ({
  ...node,
  taints: node.taints.filter((taint) => taint.key !== key),
});
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/**
 * Nodes that could take some of these pods if they were empty; the pods on other nodes need not be read. Standby nodes come last.
 */
export function candidatesFor(
  nodes: readonly NodeCapacity[],
  shapes: readonly PodShape[],
  standbyTaint: string,
): readonly NodeCapacity[] {
  const nothing: Load = { used: {}, labels: [] };
  const takes = (node: NodeCapacity): boolean =>
    shapes.some((shape) => whyNot(withoutTaint(node, standbyTaint), shape, nothing) === undefined);
  return nodes
    .filter(takes)
    .toSorted((one, other) => Number(isStandby(one, standbyTaint)) - Number(isStandby(other, standbyTaint)));
}

/** Result of one placement. */
interface Filled {
  /** In the order of placement. */
  readonly shapes: readonly PodShape[];
  readonly fit: number;
  readonly fixedFit: boolean;
  /** Names of nodes that took pods. */
  readonly used: ReadonlySet<string>;
  readonly isWhole: (shape: PodShape) => boolean;
}

/** Load of a node: resources and labels of its pods. */
interface Load {
  readonly used: Amounts;
  readonly labels: readonly Labels[];
}

const presentLoad = ({ used, podLabels = [] }: NodeCapacity): Load => ({ used, labels: podLabels });

/**
 * The most constrained pods first: those with the fewest candidate nodes, then those that request the largest part of one. If not all fit,
 * pods that do not scale come first, because a smaller job needs them too.
 */
function fillBest(nodes: readonly NodeCapacity[], shapes: readonly PodShape[], last: ReadonlySet<string>): Filled {
  const candidates = new Map(
    shapes.map((shape) => [shape, nodes.filter((node) => whyNot(node, shape, presentLoad(node)) === undefined).length]),
  );
  const part = new Map(shapes.map((shape) => [shape, largestPart(nodes, shape)]));
  const of = (counts: ReadonlyMap<PodShape, number>, shape: PodShape): number => counts.get(shape) ?? 0;
  const fixedFirst = (a: PodShape, b: PodShape): number => Number(b.fixed) - Number(a.fixed);
  const hardestFirst = (a: PodShape, b: PodShape): number =>
    of(candidates, a) - of(candidates, b) || of(part, b) - of(part, a);
  const hardest = fill(
    nodes,
    shapes.toSorted((a, b) => hardestFirst(a, b) || fixedFirst(a, b)),
    last,
  );
  if (hardest.shapes.every(hardest.isWhole)) return hardest;
  const fixed = fill(
    nodes,
    shapes.toSorted((a, b) => fixedFirst(a, b) || hardestFirst(a, b)),
    last,
  );
  const better = fixed.fixedFit === hardest.fixedFit ? fixed.fit > hardest.fit : fixed.fixedFit;
  return better ? fixed : hardest;
}

/** The largest share of the largest node that a pod requests, over all resources; 0 to 1, more where no node has enough. */
function largestPart(nodes: readonly NodeCapacity[], { requests }: PodShape): number {
  const parts = Object.entries(requests).map(
    ([name, amount]) => amount / nodes.reduce((most, { allocatable }) => Math.max(most, allocatable[name] ?? 0), 1),
  );
  return Math.max(0, ...parts);
}

function fill(nodes: readonly NodeCapacity[], shapes: readonly PodShape[], last: ReadonlySet<string>): Filled {
  const loads = new Map<string, Load>();
  const loadOf = (node: NodeCapacity): Load => loads.get(node.name) ?? presentLoad(node);
  const placed = new Map(shapes.map((shape) => [shape, place(nodes, shape, { loadOf, last, put })]));

  const isWhole = (shape: PodShape): boolean => placed.get(shape) === shape.count;

  function put(node: NodeCapacity, shape: PodShape, count: number): void {
    const { used, labels } = loadOf(node);
    const more = Object.entries(shape.requests).map(([name, amount]) => [name, (used[name] ?? 0) + amount * count]);
    loads.set(node.name, { used: { ...used, ...Object.fromEntries(more) }, labels: [...labels, shape.labels] });
  }

  return {
    shapes,
    fit: sum([...placed.values()]),
    fixedFit: shapes.every((shape) => !shape.fixed || isWhole(shape)),
    used: new Set(loads.keys()),
    isWhole,
  };
}

interface Placing {
  readonly loadOf: (node: NodeCapacity) => Load;
  /** Nodes that are used only when no other is left, as few as possible. */
  readonly last: ReadonlySet<string>;
  readonly put: (node: NodeCapacity, shape: PodShape, count: number) => void;
}

/** The fullest nodes first; nodes whose scarce resources the pods would leave idle come last. Returns how many pods fit. */
function place(nodes: readonly NodeCapacity[], shape: PodShape, { loadOf, last, put }: Placing): number {
  const candidates = nodes.flatMap((node) => {
    const load = loadOf(node);
    if (whyNot(node, shape, load) !== undefined) return [];
    return [
      { node, slots: slotsFor(node, shape, load), idle: idleBeside(node, shape, load), last: last.has(node.name) },
    ];
  });
  candidates.sort((a, b) =>
    a.last === b.last
      ? a.idle - b.idle || (a.last ? b.slots - a.slots : a.slots - b.slots) || (a.node.name < b.node.name ? -1 : 1)
      : Number(a.last) - Number(b.last),
  );
  let left = shape.count;
  for (const { node, slots } of candidates) {
    if (left === 0) break;
    const count = Math.min(slots, left);
    put(node, shape, count);
    left -= count;
  }
  return shape.count - left;
}

const free = (node: NodeCapacity, load: Load, resource: string): number =>
  (node.allocatable[resource] ?? 0) - (load.used[resource] ?? 0);

/** How many more pods of the shape the node takes. */
function slotsFor(node: NodeCapacity, { requests, apart, labels }: PodShape, load: Load): number {
  const most = apart.some((selector) => fits(selector, labels)) ? 1 : Infinity;
  return Math.min(
    most,
    ...Object.entries(requests).map(([name, amount]) =>
      amount > 0 ? Math.floor(free(node, load, name) / amount) : Infinity,
    ),
  );
}

/** Accelerators and other extended resources that the pods do not request: their names have a domain. */
const idleBeside = (node: NodeCapacity, { requests }: PodShape, load: Load): number =>
  sum(
    Object.keys(node.allocatable).map((name) =>
      name.includes('/') && !requests[name] ? Math.max(0, free(node, load, name)) : 0,
    ),
  );

/** Why the node takes no pod of the shape; undefined when it takes one. */
function whyNot(node: NodeCapacity, shape: PodShape, load: Load): string | undefined {
  if (!node.ready) return 'not ready';
  if (node.unschedulable && !isTolerated(cordon, shape.tolerations)) return 'cordoned';
  const taint = node.taints.find((each) => keepsOff(each) && !isTolerated(each, shape.tolerations));
  if (taint) return `taint ${taint.key}${taint.value ? `=${taint.value}` : ''}`;
  if (shape.nodes.length > 0 && !shape.nodes.some((term) => fits(term, node.labels))) return 'labels do not match';
  const short = Object.entries(shape.requests).find(([name, amount]) => amount > 0 && amount > free(node, load, name));
  if (short) return shortage(node, short, load);
  if (load.labels.some((labels) => shape.apart.some((selector) => fits(selector, labels))))
    return 'anti-affinity to a pod there';
  return undefined;
}

/** The taint that the node controller adds for `spec.unschedulable`. */
const cordon: PlacementTaint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

const keepsOff = ({ effect }: PlacementTaint): boolean => effect === 'NoSchedule' || effect === 'NoExecute';

const isTolerated = (taint: PlacementTaint, tolerations: readonly PlacementToleration[]): boolean =>
  tolerations.some(({ key, operator, value, effect }) => {
    if (effect && effect !== taint.effect) return false;
    if (operator === 'Exists') return !key || key === taint.key;
    return key === taint.key && (value ?? '') === (taint.value ?? '');
  });

const fits = (requirements: readonly Requirement[], labels: Labels): boolean =>
  requirements.every((one) => fitsOne(one, labels[one.key]));

function fitsOne({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return Number(value) > Number(values[0]);
    case 'Lt':
      return Number(value) < Number(values[0]);
    default:
      return false;
  }
}

/** Amounts are given only for extended resources: free cores and bytes differ on every node, so their reasons could not be grouped. */
function shortage(node: NodeCapacity, [resource, amount]: readonly [string, number], load: Load): string {
  const whole = node.allocatable[resource] ?? 0;
  if (whole === 0) return `no ${resource}`;
  if (!resource.includes('/')) return resource === 'pods' ? 'no free pod slot' : `too little ${resource}`;
  return whole < amount
    ? `only ${whole} ${resource}`
    : `${Math.max(0, free(node, load, resource))} of ${whole} ${resource} free`;
}

const mostReasons = 5;

/** Obstacles for the first pods that do not fit, or else the first of all. A node that is full of other pods of the job is not an obstacle. */
function obstacles(nodes: readonly NodeCapacity[], { shapes, isWhole }: Filled): string {
  const shape = shapes.find((one) => !isWhole(one)) ?? shapes[0];
  if (!shape) return 'no pods';
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const reason = whyNot(node, shape, presentLoad(node));
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const rest = sum(sorted.slice(mostReasons).map(([, count]) => count));
  const reasons = sorted.slice(0, mostReasons).map(([reason, count]) => `${nodesOf(count)}: ${reason}`);
  return [...reasons, ...(rest > 0 ? [`${nodesOf(rest)}: other reasons`] : [])].join('; ') || 'no other nodes';
}

const nodesOf = (count: number): string => `${count} ${count === 1 ? 'node' : 'nodes'}`;
