/** Which nodes a release is for. Pure. */

import type { V1Node } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { annotations } from '../../contract/ids.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';

/** One way of choosing. `selector`: the API server has applied it. */
export type Selection =
  | { readonly by: 'all' | 'selector' }
  | { readonly by: 'names'; readonly names: readonly string[] }
  | { readonly by: 'incident'; readonly incident: string }
  /** A code such as xid/79, or the begin of one with `*`. */
  | { readonly by: 'cause'; readonly cause: string };

/** A node that kcover has quarantined, or wants to. */
export interface Candidate {
  readonly node: string;
  readonly incident: string | null;
  readonly because: string | null;
  readonly codes: readonly string[];
}

export const incidentOn = ({ metadata }: V1Node): string | null =>
  metadata?.annotations?.[annotations.quarantineIncident] ?? null;

/** The nodes that have the mark of a quarantine, or a workflow that waits to set it. */
export function candidates(nodes: readonly V1Node[], statuses: ReadonlyMap<string, NodeStatus>): readonly Candidate[] {
  return nodes.flatMap((node) => {
    const name = node.metadata?.name ?? '';
    const status = statuses.get(name);
    const incident = incidentOn(node) ?? (status?.phase === 'held' ? (status.incident ?? null) : null);
    if (incident === null) return [];
    const because = node.metadata?.annotations?.[annotations.quarantineReason] ?? status?.because ?? null;
    return [{ node: name, incident, because, codes: status?.faults.map(({ code }) => code) ?? [] }];
  });
}

/** Throws `not-found` for a name or an incident that fits none: a typing error must not look like success. */
export function chosen(from: readonly Candidate[], selection: Selection): readonly Candidate[] {
  switch (selection.by) {
    case 'all':
    case 'selector':
      return from;
    case 'names':
      return selection.names.map(
        (name) => from.find(({ node }) => node === name) ?? fail(`node ${name} is not quarantined by kcover`),
      );
    case 'incident': {
      const found = from.filter(({ incident }) => incident === selection.incident);
      return found.length > 0 ? found : fail(`no node is quarantined for ${selection.incident}`);
    }
    case 'cause':
      return from.filter(({ codes }) => isAlone(selection.cause, codes));
  }
}

/** A node with a second cause is left out: a false alarm of one code says nothing about another. */
function isAlone(cause: string, codes: readonly string[]): boolean {
  const fits = (code: string) => (cause.endsWith('*') ? code.startsWith(cause.slice(0, -1)) : code === cause);
  return codes.length > 0 && codes.every(fits);
}

function fail(because: string): never {
  throw new KcoverError('not-found', because, { what: 'nothing is released', remedy: 'kcover node list' });
}
