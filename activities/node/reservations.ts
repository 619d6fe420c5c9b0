/** Reserves quarantines with the cluster's workflow, with one update in flight for each worker. */

import type { Activities } from '../../contract/wire/activities.ts';
import type {
  NodeLimit,
  ReserveAnswer,
  ReserveLimit,
  ReserveRequest,
  Reservation,
  Returned,
} from '../../contract/cluster.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { signals, updates } from '../../contract/wire/messages.ts';
import { type Count, FleetCounter } from '../../kube/nodes/fleet.ts';
import { nodeView, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import type { Dependencies } from '../dependencies.ts';
import { createBatcher } from '../batcher.ts';
import { ClusterWorkflow } from '../cluster-workflow.ts';

type WantedReservation = ReserveRequest['wanted'][number];

/** A reservation younger than this belongs to a quarantine that is being written: it is not checked. */
const settledMs = 60_000;

export function reservationActivities(needs: Dependencies): Pick<Activities, 'reserveQuarantine'> {
  const { kube, settings, now } = needs;
  const { limit: setting, taint } = settings.quarantine;
  const fleet = new FleetCounter(kube, Object.keys(setting.domains), now);
  const cluster = new ClusterWorkflow(needs);

  async function limit(domains: readonly string[]): Promise<ReserveLimit> {
    const all = limitFor(await fleet.count(), setting);
    const { percent, perNamespace } = settings.preflight.limit;
    const ofDomains = domains.map(async (domain) => {
      const [label = ''] = domain.split('=');
      return [domain, limitFor(await fleet.count(domain), setting.domains[label] ?? setting)] as const;
    });
    return {
      ...all,
      ...(domains.length > 0 && { domains: Object.fromEntries(await Promise.all(ofDomains)) }),
      preflight: {
        nodes: Math.floor((all.nodes * percent) / 100),
        perNamespace,
        because: `preflight.limit: ${percent}% of the ${all.nodes} nodes that may be out, ${perNamespace} for a namespace`,
      },
    };
  }

  function ask(wanted: readonly WantedReservation[], most: ReserveLimit): Promise<readonly ReserveAnswer[]> {
    const { nodes, within, quiet } = settings.quarantine.storm;
    const storm = { nodes, withinMs: within, quietMs: quiet };
    return cluster.update<ReserveRequest, readonly ReserveAnswer[]>(updates.reserve, { limit: most, storm, wanted });
  }

  /** Abandoned means: the node has no taint of ours, and no workflow is about to write one. A failed write may be retried much later. */
  async function isAbandoned({ node: name, nodeUid }: Reservation): Promise<boolean> {
    const node = await readNode(kube, name);
    if (node?.metadata?.uid === nodeUid && nodeView(node, taint).taint?.ours) return false;
    return !(await cluster.runs(nodeWorkflowId(name)));
  }

  /** Releases abandoned reservations; true when there were any. */
  async function reconcile(): Promise<boolean> {
    const { reservations } = await cluster.status();
    const settled = reservations.filter((each) => now() - each.since > settledMs);
    const abandoned = await inParallel(settled, async (each) => ((await isAbandoned(each)) ? [each.nodeUid] : []));
    const returned: Returned = { nodeUids: abandoned.flat() };
    if (returned.nodeUids.length === 0) return false;
    await cluster.signal(signals.returned, returned);
    return true;
  }

  async function withDomains(one: WantedReservation): Promise<WantedReservation> {
    const domains = await fleet.domainsOf(one.node);
    return domains.length > 0 ? { ...one, domains } : one;
  }

  async function reserve(asked: readonly WantedReservation[]): Promise<readonly ReserveAnswer[]> {
    const wanted = await inParallel(asked, withDomains);
    const most = await limit([...new Set(wanted.flatMap(({ domains = [] }) => domains))]);
    const answers = await ask(wanted, most);
    const refused = wanted.filter((each) => answerFor(each, answers)?.granted !== true);
    if (refused.length === 0 || !(await reconcile())) return inOrder(wanted, answers);
    return inOrder(wanted, [...(await ask(refused, most)), ...answers]);
  }

  const reserveOne = createBatcher(reserve);
  return { reserveQuarantine: (request) => reserveOne(request) };
}

function limitFor({ nodes, others }: Count, { atLeast, percent }: { atLeast: number; percent: number }): NodeLimit {
  const less = others > 0 ? `, less ${others} that others keep out` : '';
  return {
    nodes: Math.max(atLeast, Math.floor((nodes * percent) / 100) - others),
    because: `${percent}% of ${nodes} nodes with accelerators${less}, at least ${atLeast}`,
  };
}

const answerFor = ({ nodeUid }: WantedReservation, answers: readonly ReserveAnswer[]): ReserveAnswer | undefined =>
  answers.find((answer) => answer.nodeUid === nodeUid);

const inOrder = (wanted: readonly WantedReservation[], answers: readonly ReserveAnswer[]): ReserveAnswer[] =>
  wanted.map(
    (each) =>
      answerFor(each, answers) ?? { granted: false, nodeUid: each.nodeUid, because: 'the cluster gave no answer' },
  );
