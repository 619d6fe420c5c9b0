/**
 * Several nodes of one place with one cause within minutes: the cause is likelier one thing that they share than so many broken nodes. Quarantines
 * go on within the limits; repairs of these nodes wait, and then begin one by one. Pure; times are milliseconds since the epoch.
 */

import type { Repair, ReserveRequest, Storm, StormRule } from '../../contract/cluster.ts';

export interface Storms {
  /** Nodes whose quarantine began within the time of the rule, each cause of a node once. */
  readonly recent: readonly RecentQuarantine[];
  /** Oldest first. */
  readonly open: readonly Storm[];
}

interface RecentQuarantine {
  readonly node: string;
  readonly cause: string;
  readonly places: readonly string[];
  readonly at: number;
}

/** Bounds; without the oldest. */
const most = { recent: 1000, open: 20, nodes: 1000 } as const;

/** Repairs of nodes of a storm that may run at once: as many have to help before the next number. A storm of which all helped is over. */
const together = [1, 2, 4] as const;

export const noStorms: Storms = { recent: [], open: [] };

/** The place of nodes without a domain that has a limit. */
const everywhere = 'the cluster';

/** With the quarantines of a request, granted or not: a refused node is as broken as a granted one. What a person asks for has a cause of its own. */
export function withQuarantines(
  storms: Storms,
  wanted: ReserveRequest['wanted'],
  rule: StormRule,
  now: number,
): Storms {
  return wanted.reduce((before, { node, incident, cause, domains = [], byOperator }) => {
    const at = Date.parse(incident.split('/').at(-1) ?? '');
    // A held quarantine asks again and again: only its begin counts.
    if (cause === undefined || byOperator || !(now - at <= rule.withinMs)) return before;
    const places = domains.length > 0 ? domains : [everywhere];
    return withQuarantine(before, { node, cause, places, at }, rule, now);
  }, storms);
}

function withQuarantine({ recent, open }: Storms, added: RecentQuarantine, rule: StormRule, now: number): Storms {
  const { node, cause, places } = added;
  if (recent.some((one) => one.node === node && one.cause === cause)) return { recent, open };
  const known = [...recent.filter(({ at }) => now - at <= rule.withinMs), added].slice(-most.recent);
  const isJoined = (storm: Storm) => storm.cause === cause && places.includes(storm.place);
  const joined = open.map((storm) => (isJoined(storm) ? withNode(storm, node, now + rule.quietMs) : storm));
  return {
    recent: known,
    open: places
      .reduce<readonly Storm[]>((all, place) => withStorm(all, place, cause, known, rule, now), joined)
      .slice(-most.open),
  };
}

/** Where the nodes of the place are enough, and not all of them are in one storm already: the nodes of one rack are no second storm of its zone. */
function withStorm(
  open: readonly Storm[],
  place: string,
  cause: string,
  recent: readonly RecentQuarantine[],
  { nodes: least, quietMs }: StormRule,
  now: number,
): readonly Storm[] {
  const together = recent.filter((one) => one.cause === cause && one.places.includes(place)).map((one) => one.node);
  const nodes = [...new Set(together)];
  const isKnown = (storm: Storm) =>
    storm.cause === cause && (storm.place === place || nodes.every((node) => storm.nodes.includes(node)));
  if (nodes.length < least || open.some(isKnown)) return open;
  const id = stormId(cause, place, now);
  return [...open, { id, cause, place, since: now, nodes, quietMs, until: now + quietMs, helped: 0 }];
}

/** A label's prefix is left out where the id would be long: its name and value have 63 characters each. */
const stormId = (cause: string, place: string, now: number): string =>
  `storm/${cause}/${place.replaceAll(/[^\w.=-]/g, '-').slice(-127)}/${new Date(now).toISOString()}`;

/** Id of the storm that a requested quarantine belongs to. What a person asks for belongs to none. */
export const stormOf = (
  { open }: Storms,
  { node, cause, byOperator }: ReserveRequest['wanted'][number],
): string | undefined =>
  byOperator ? undefined : open.find((storm) => storm.cause === cause && storm.nodes.includes(node))?.id;

const withNode = (storm: Storm, node: string, until: number): Storm => ({
  ...storm,
  nodes: storm.nodes.includes(node) ? storm.nodes : [...storm.nodes, node].slice(-most.nodes),
  until,
  helped: 0,
});

const placeOf = ({ nodes, place, cause }: Storm): string => `${nodes.length} nodes of ${place} with ${cause}`;

/** Why a repair of the node waits; undefined where no storm stands against it. */
export function whyStorm({ open }: Storms, node: string, others: readonly Repair[], now: number): string | undefined {
  for (const storm of open.filter(({ nodes }) => nodes.includes(node))) {
    const what = `${placeOf(storm)} since ${new Date(storm.since).toISOString()} are one incident (${storm.id})`;
    if (now < storm.until)
      return `${what}: repairs begin at ${new Date(storm.until).toISOString()} if no other follows`;
    const running = others.filter((one) => storm.nodes.includes(one.node));
    const may = mayRun(storm);
    if (running.length >= may)
      return `${what}: ${may} of them may be under repair at once until that has helped (${running.map((one) => one.node).join(', ')})`;
  }
  return undefined;
}

/** How many of its nodes may be under repair at once. */
export function mayRun({ helped }: Pick<Storm, 'helped'>): number {
  let left = helped;
  for (const size of together) {
    if (left < size) return size;
    left -= size;
  }
  return Infinity;
}

/** A repair that helped lets more of them begin; one that did not lets all wait once more. `outcome`: missing where its workflow was lost. */
export function withRepairEnded(storms: Storms, node: string, outcome: string | undefined, now: number): Storms {
  // Who cancelled it says nothing about the cause.
  if (outcome === 'cancelled') return storms;
  const open = storms.open.flatMap((storm) => {
    if (!storm.nodes.includes(node)) return [storm];
    if (outcome !== 'cured') return [{ ...storm, helped: 0, until: now + storm.quietMs }];
    const after = { ...storm, helped: storm.helped + 1 };
    return mayRun(after) === Infinity ? [] : [after];
  });
  return { ...storms, open };
}

/** Without storms of which every node is back in service. */
export function withReturned(storms: Storms, out: ReadonlySet<string>, now: number): Storms {
  const open = storms.open.filter(({ nodes, until }) => now < until || nodes.some((node) => out.has(node)));
  return open.length === storms.open.length ? storms : { ...storms, open };
}

/** The text of its one notification. */
export const stormMessage = (storm: Storm): string =>
  `${placeOf(storm)} within minutes: ${storm.nodes.slice(0, 10).join(', ')}; one cause that they share is likelier than so many broken nodes. Quarantines go on within the limits, repairs wait until ${new Date(storm.until).toISOString()}; a false alarm is undone by kcover node release --cause; to stop everything: kcover pause --reason "..."`;
