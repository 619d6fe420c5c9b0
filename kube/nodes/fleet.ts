/** The nodes with accelerators, counted for the limits on quarantines. */

import type { V1Node } from '@kubernetes/client-node';
import { annotations } from '../../contract/ids.ts';
import type { Kube } from '../client/connection.ts';
import { pagesOf } from '../client/requests.ts';
import { hasAccelerators, readinessOf, readNode } from './nodes.ts';

/** Nodes of a cluster or of a domain. */
export interface Count {
  readonly nodes: number;
  /** Those that are cordoned or not ready, without those that kcover has quarantined. */
  readonly others: number;
}

interface Fleet {
  readonly all: Count;
  /** By `label=value`. */
  readonly domains: ReadonlyMap<string, Count>;
  /** By node. */
  readonly domainsOf: ReadonlyMap<string, readonly string[]>;
}

/** `label=value` for each of the labels that the node has. */
export const domainsOf = ({ metadata }: V1Node, labels: readonly string[]): readonly string[] =>
  labels.flatMap((label) => {
    const value = metadata?.labels?.[label];
    return value === undefined ? [] : [`${label}=${value}`];
  });

const countedMs = 60_000;

/** Counts at most once a minute. */
export class FleetCounter {
  readonly #kube: Kube;
  readonly #labels: readonly string[];
  readonly #now: () => number;
  #last: { readonly at: number; readonly fleet: Promise<Fleet> } | undefined;

  constructor(kube: Kube, labels: readonly string[], now: () => number) {
    this.#kube = kube;
    this.#labels = labels;
    this.#now = now;
  }

  async count(domain?: string): Promise<Count> {
    const { all, domains } = await this.#fleet();
    return domain === undefined ? all : (domains.get(domain) ?? nothing);
  }

  /** A node that is younger than the last count is read. */
  async domainsOf(node: string): Promise<readonly string[]> {
    if (this.#labels.length === 0) return [];
    const known = (await this.#fleet()).domainsOf.get(node);
    if (known) return known;
    const seen = await readNode(this.#kube, node);
    return seen ? domainsOf(seen, this.#labels) : [];
  }

  #fleet(): Promise<Fleet> {
    if (!this.#last || this.#now() - this.#last.at > countedMs) {
      const fresh = { at: this.#now(), fleet: fleetIn(this.#kube, this.#labels) };
      this.#last = fresh;
      fresh.fleet.catch(() => {
        if (this.#last === fresh) this.#last = undefined;
      });
    }
    return this.#last.fleet;
  }
}

const nothing: Count = { nodes: 0, others: 0 };

async function fleetIn(kube: Kube, labels: readonly string[]): Promise<Fleet> {
  let all = nothing;
  const domains = new Map<string, Count>();
  const byNode = new Map<string, readonly string[]>();
  for await (const page of pagesOf<V1Node>(kube, '/api/v1/nodes', {}, 'count the nodes with accelerators'))
    for (const node of page.filter(hasAccelerators)) {
      all = withNode(all, node);
      const own = domainsOf(node, labels);
      if (labels.length > 0) byNode.set(node.metadata?.name ?? '', own);
      for (const domain of own) domains.set(domain, withNode(domains.get(domain) ?? nothing, node));
    }
  return { all, domains, domainsOf: byNode };
}

const withNode = ({ nodes, others }: Count, node: V1Node): Count => ({
  nodes: nodes + 1,
  others: others + (isKeptOutByOthers(node) ? 1 : 0),
});

const isKeptOutByOthers = (node: V1Node): boolean =>
  node.metadata?.annotations?.[annotations.quarantineIncident] === undefined &&
  (node.spec?.unschedulable === true || !readinessOf(node).ready);
