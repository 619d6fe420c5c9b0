/** Reads what decides whether the next attempt of a job fits: every node, and the requests of pods on the candidate nodes. */

import type {
  KubernetesListObject,
  KubernetesObject,
  V1LabelSelector,
  V1Node,
  V1NodeSelectorTerm,
  V1Pod,
  V1PodSpec,
  V1PodTemplateSpec,
} from '@kubernetes/client-node';
import type { JobRef } from '../contract/job/jobs.ts';
import type {
  Amounts,
  Labels,
  NodeCapacity,
  PodShape,
  Requirement,
  PlacementFacts,
} from '../contract/recovery/placement.ts';
import type { Kube } from './client/connection.ts';
import { jobKinds } from './jobs/kinds/index.ts';
import { readJobObject } from './jobs/jobs.ts';
import { jobWithPods } from './jobs/child-jobs.ts';
import { readinessOf } from './nodes/nodes.ts';
import { added, amountsOf, requestsOf } from './pods/requests.ts';
import { belongsTo, listMatchingPods } from './pods/pods.ts';
import { inParallel } from './client/parallel.ts';
import { askKube, pagesOf } from './client/requests.ts';

/** A pod that uses resources of a node. Only a few fields are kept, because there may be very many. */
export interface BoundPod extends Pick<V1Pod, 'metadata'> {
  readonly node: string;
  readonly requests: Amounts;
}

/** What the next attempt needs. */
export interface WantedCapacity extends Pick<PlacementFacts, 'shapes' | 'sizes'> {
  /** Pods that free capacity for it. */
  readonly isReplaced: (pod: BoundPod) => boolean;
  /** The namespace in which labels of pods matter for anti-affinity. */
  readonly namespace?: string;
}

/** What the pods of these UIDs, or all of the job, need to run again. Undefined when the job is gone. */
export async function readWanted(
  kube: Kube,
  job: JobRef,
  pods: readonly string[] | undefined,
): Promise<WantedCapacity | undefined> {
  // Where the job creates another job from its templates, the child has the complete ones.
  const theirs = (await jobWithPods(kube, job)) ?? job;
  const object = await readJobObject(kube, theirs);
  if (!object) return undefined;
  const shapes = pods
    ? shapesOfPods(theirs, await listMatchingPods(kube, theirs), new Set(pods))
    : shapesOf(theirs, object);
  const keepsAway = shapes.some(({ apart }) => apart.length > 0);
  const sizes = jobKinds[job.kind].resizing?.sizes(object);
  return {
    shapes,
    isReplaced: replacedPods(theirs, pods),
    ...(keepsAway && { namespace: job.namespace }),
    ...(sizes && { sizes }),
  };
}

/** Pods that free capacity: those of these UIDs, or all of the job. Pods in other namespaces never count, whatever owner they name. */
export const replacedPods =
  (job: JobRef, pods: readonly string[] | undefined) =>
  (pod: Pick<V1Pod, 'metadata'>): boolean =>
    pod.metadata?.namespace === job.namespace && (pods ? pods.includes(pod.metadata.uid ?? '') : belongsTo(job, pod));

/** Every node, without its pods. */
export async function readNodes(kube: Kube): Promise<NodeCapacity[]> {
  const nodes: NodeCapacity[] = [];
  for await (const page of pagesOf<V1Node>(kube, '/api/v1/nodes', {}, 'list the nodes'))
    nodes.push(...page.map(nodeCapacity));
  return nodes;
}

/** The only field that node affinity may match; it is kept among the labels. */
const nameField = 'metadata.name';

/** An empty node. */
export function nodeCapacity(node: V1Node): NodeCapacity {
  return {
    name: node.metadata?.name ?? '',
    ready: readinessOf(node).ready,
    unschedulable: node.spec?.unschedulable === true,
    taints: (node.spec?.taints ?? []).map(({ key, value, effect }) => ({ key, effect, ...(value && { value }) })),
    labels: { ...node.metadata?.labels, [nameField]: node.metadata?.name ?? '' },
    allocatable: amountsOf(node.status?.allocatable),
    used: {},
  };
}

/** Pods that ended use no resources; the server leaves them out. */
const alive = 'status.phase!=Succeeded,status.phase!=Failed';

/**
 * Pods that use resources of these nodes, requested node by node. With resourceVersion 0 the server answers from its cache, which indexes pods
 * by node; from storage it would read every pod of the cluster for each request. The answer may be slightly stale, as any answer is by the
 * time that pods are bound.
 */
export async function podsOnNodes(kube: Kube, names: readonly string[]): Promise<readonly BoundPod[]> {
  const lists = await inParallel(names, async (name) => {
    const query = { fieldSelector: `spec.nodeName=${name},${alive}`, resourceVersion: '0' };
    const { items } = await askKube<KubernetesListObject<V1Pod>>(
      kube,
      { method: 'GET', path: '/api/v1/pods', query },
      `list the pods on node ${name}`,
    );
    return items.map(boundPod);
  });
  return lists.flat();
}

function boundPod({ metadata, spec }: V1Pod): BoundPod {
  const { namespace = '', uid = '', labels = {}, ownerReferences = [] } = metadata ?? {};
  return {
    metadata: { namespace, uid, labels, ownerReferences },
    node: spec?.nodeName ?? '',
    requests: requestsOf(spec),
  };
}

/** The nodes with the pods that stay on them. */
export function withLoads(
  nodes: readonly NodeCapacity[],
  pods: readonly BoundPod[],
  { isReplaced, namespace }: WantedCapacity,
): NodeCapacity[] {
  const loads = new Map<string, { used: Amounts; podLabels: Labels[] }>();
  for (const { metadata, node, requests } of pods.filter((pod) => !isReplaced(pod))) {
    const load = loads.get(node) ?? { used: {}, podLabels: [] };
    load.used = added(load.used, requests);
    if (namespace !== undefined && metadata?.namespace === namespace) load.podLabels.push(metadata.labels ?? {});
    loads.set(node, load);
  }
  return nodes.map((node) => ({ ...node, ...loads.get(node.name) }));
}

/** One for each role of the next attempt. */
export function shapesOf(job: JobRef, object: KubernetesObject): PodShape[] {
  return jobKinds[job.kind]
    .roles(object)
    .filter(({ replicas }) => replicas > 0)
    .map(({ replicas, template, labels, scales }) =>
      shapeOf(template, { count: replicas, fixed: !scales, given: labels, namespace: job.namespace }),
    );
}

/** Replaced pods keep their spec. Identical pods are grouped, because every shape is tried on every node. */
export function shapesOfPods(job: JobRef, pods: readonly V1Pod[], uids: ReadonlySet<string>): PodShape[] {
  const shapes = new Map<string, PodShape>();
  for (const pod of pods.filter(({ metadata }) => uids.has(metadata?.uid ?? ''))) {
    const { labels, ...shape } = shapeOf(pod, { count: 1, fixed: true, given: {}, namespace: job.namespace });
    // Labels contain the index of each pod, and are needed for anti-affinity only.
    const alike = { ...shape, labels: shape.apart.length > 0 ? labels : {} };
    const key = JSON.stringify(alike);
    shapes.set(key, { ...alike, count: (shapes.get(key)?.count ?? 0) + 1 });
  }
  return [...shapes.values()];
}

interface TemplateContext {
  readonly count: number;
  readonly fixed: boolean;
  /** Labels that the job's controller adds to pods. */
  readonly given: Labels;
  readonly namespace: string;
}

function shapeOf(
  template: Pick<V1PodTemplateSpec, 'metadata' | 'spec'> | undefined,
  { count, fixed, given, namespace }: TemplateContext,
): PodShape {
  const spec = template?.spec;
  return {
    count,
    fixed,
    requests: requestsOf(spec),
    labels: { ...template?.metadata?.labels, ...given },
    nodes: nodeTerms(spec),
    tolerations: spec?.tolerations ?? [],
    apart: apartFrom(spec, namespace),
  };
}

/** The selector in every alternative of the required affinity. */
function nodeTerms(spec: V1PodSpec | undefined): Requirement[][] {
  const selector = Object.entries(spec?.nodeSelector ?? {}).map(([key, value]) => ({
    key,
    operator: 'In',
    values: [value],
  }));
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (terms) return terms.map((term) => [...selector, ...expressions(term)]);
  return selector.length > 0 ? [selector] : [];
}

const expressions = ({ matchExpressions = [], matchFields = [] }: V1NodeSelectorTerm): Requirement[] => [
  ...matchExpressions,
  ...matchFields,
];

/** Required anti-affinity by host name in the job's own namespace: as used to place one rank on each node. */
function apartFrom(spec: V1PodSpec | undefined, namespace: string): Requirement[][] {
  const terms = spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms
    .filter(
      ({ topologyKey, namespaces }) =>
        topologyKey === 'kubernetes.io/hostname' && (namespaces === undefined || namespaces.includes(namespace)),
    )
    .flatMap(({ labelSelector }) => (labelSelector ? [requirementsOf(labelSelector)] : []));
}

const requirementsOf = ({ matchLabels = {}, matchExpressions = [] }: V1LabelSelector): Requirement[] => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  ...matchExpressions,
];
