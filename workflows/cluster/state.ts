import type {
  Paused,
  PermitAnswer,
  PermitRequest,
  Repair,
  Reservation,
  ReserveAnswer,
  ReserveLimit,
  ReserveRequest,
  StoredPause,
} from '../../contract/cluster.ts';
import { noStorms, stormOf, type Storms, whyStorm, withQuarantines } from './storms.ts';
import { noWaves, type Waves } from './waves.ts';

/**
 * `counting`: the nodes that were out before this run are not known yet, and a limit would begin from zero. `open`: reservations are granted up
 * to the limit. `paused`: a person has stopped every quarantine and stop that has not begun.
 */
export type ClusterState = ClusterData &
  ({ readonly phase: 'counting' } | { readonly phase: 'open' } | { readonly phase: 'paused'; readonly paused: Paused });

export interface ClusterData {
  /** By node UID, in the order in which they were granted. */
  readonly reservations: Readonly<Record<string, Reservation>>;
  /** Nodes under repair, by id of the remedy. */
  readonly repairs: Readonly<Record<string, Repair>>;
  readonly storms: Storms;
  readonly waves: Waves;
  /** Ids of workflows that were refused and wait for a change, in the order of their requests. */
  readonly waiting: readonly string[];
  /** Something changed since they were notified: a refusal may no longer hold. */
  readonly changed: boolean;
  readonly paused?: Paused | undefined;
  /** The pause, or its end, of this run is newer than a stored one. */
  readonly pauseKnown: boolean;
  /** A pause, or its end, that is not yet stored outside of Temporal, and why not. */
  readonly unstored?: undefined | { readonly pause: StoredPause; readonly because: string };
  /** When the nodes are counted once more, ms: writes may have been under way when this run began. */
  readonly recountAt?: number | undefined;
}

/** By then, a quarantine that was being written when this run began has been written, or given up. ms */
const recountMs = 2 * 60_000;

export const firstState = (now: number): ClusterState => ({
  phase: 'counting',
  reservations: {},
  repairs: {},
  storms: noStorms,
  waves: noWaves,
  waiting: [],
  changed: false,
  pauseKnown: false,
  recountAt: now + recountMs,
});

/** Answers a request, and lists what is reserved afterwards. Asking again returns the same reservation. */
export function reserve(
  state: ClusterState,
  { wanted, limit, storm }: ReserveRequest,
  now: number,
): { readonly answers: ReserveAnswer[] } & Pick<ClusterData, 'reservations' | 'storms'> {
  let { reservations } = state;
  const storms = withQuarantines(state.storms, wanted, storm, now);
  const answers = wanted.map((request): ReserveAnswer => {
    const { byOperator, ...one } = request;
    const { nodeUid } = one;
    const part = stormOf(storms, request);
    const answer = { nodeUid, ...(part !== undefined && { storm: part }) };
    const because = byOperator ? undefined : whyNot({ ...state, reservations }, one, limit);
    if (because !== undefined) return { ...answer, granted: false, because };
    const reservation = reservations[nodeUid] ?? { ...one, since: now };
    reservations = { ...reservations, [nodeUid]: reservation };
    return { ...answer, granted: true, incident: reservation.incident };
  });
  return { answers, reservations, storms };
}

/** Answers a remedy, and lists what is under repair afterwards. */
export function permitRepair(
  { paused, repairs, storms }: ClusterData,
  { remedy, node, most }: PermitRequest,
  now: number,
): { readonly answer: PermitAnswer; readonly repairs: ClusterData['repairs'] } {
  const refuse = (because: string) => ({ answer: { granted: false as const, because }, repairs });
  if (paused) return refuse(`paused by ${paused.by}: ${paused.reason}`);
  const others = Object.values(repairs).filter((one) => one.remedy !== remedy);
  const storm = whyStorm(storms, node, others, now);
  if (storm !== undefined) return refuse(storm);
  if (others.length >= most) {
    const named = others.slice(0, 5).map((one) => one.node);
    return refuse(
      `${others.length} nodes are under repair (${named.join(', ')}) and ${most} may be (remediation.most)`,
    );
  }
  return {
    answer: { granted: true },
    repairs: { ...repairs, [remedy]: repairs[remedy] ?? { remedy, node, since: now } },
  };
}

function whyNot(
  { paused, reservations }: ClusterData,
  { nodeUid, preflight, domains = [] }: Pick<Reservation, 'nodeUid' | 'preflight' | 'domains'>,
  limit: ReserveLimit,
) {
  // A write that was granted before the pause and is retried waits too.
  if (paused) return `paused by ${paused.by}: ${paused.reason}`;
  if (reservations[nodeUid]) return undefined;
  const out = Object.values(reservations);
  if (out.length >= limit.nodes) return `${out.length} nodes are out and ${limit.nodes} may be (${limit.because})`;
  for (const domain of domains) {
    const most = limit.domains?.[domain];
    const there = out.filter((one) => one.domains?.includes(domain)).length;
    if (most && there >= most.nodes)
      return `${there} nodes of ${domain} are out and ${most.nodes} may be (${most.because})`;
  }
  return preflight && whyNotByPreflight(out, preflight.namespace, limit.preflight);
}

function whyNotByPreflight(
  all: readonly Reservation[],
  namespace: string,
  limit: ReserveLimit['preflight'],
): string | undefined {
  const { nodes, perNamespace, because } = limit;
  const out = all.flatMap(({ preflight }) => preflight ?? []);
  if (out.length >= nodes)
    return `${out.length} nodes are out because of preflights alone and ${nodes} may be (${because})`;
  const own = out.filter((one) => one.namespace === namespace).length;
  return own >= perNamespace
    ? `${own} nodes are out because of preflights in ${namespace} alone and ${perNamespace} may be (${because})`
    : undefined;
}
