/** Reserves quarantines with the cluster's workflow, with one update in flight for each worker. */

import { WithStartWorkflowOperation } from '@temporalio/client';
import { type Workflow, WorkflowNotFoundError } from '@temporalio/common';
import type { Activities } from '../../contract/wire/activities.ts';
import type {
  ClusterStatus,
  NodeLimit,
  ReserveAnswer,
  ReserveLimit,
  ReserveRequest,
  Reservation,
  Returned,
} from '../../contract/cluster.ts';
import { clusterWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import { signals, statusQuery, updates } from '../../contract/wire/messages.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { clusterStart } from '../../contract/wire/starts.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { type Count, FleetCounter } from '../../kube/nodes/fleet.ts';
import { nodeView, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import type { Dependencies } from '../dependencies.ts';
import { createBatcher } from '../batcher.ts';

type WantedReservation = ReserveRequest['wanted'][number];

/** Time-out of the cluster's workflow, ms. */
const answerMs = 10_000;

/** A reservation younger than this belongs to a quarantine that is being written: it is not checked. */
const settledMs = 60_000;

export function reservationActivities({
  kube,
  settings,
  temporal,
  now,
}: Dependencies): Pick<Activities, 'reserveQuarantine'> {
  const { limit: setting, taint } = settings.quarantine;
  const fleet = new FleetCounter(kube, Object.keys(setting.domains), now);
  const cluster = () => temporal().workflow.getHandle(clusterWorkflowId);
  let uid: string | undefined;

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

  /** Starts the workflow if it does not run: Temporal or a person may have terminated it. */
  async function ask(wanted: readonly WantedReservation[], most: ReserveLimit): Promise<readonly ReserveAnswer[]> {
    const { nodes, within, quiet } = settings.quarantine.storm;
    const storm = { nodes, withinMs: within, quietMs: quiet };
    const request: ReserveRequest = { limit: most, storm, wanted };
    uid ??= await clusterUid(kube);
    const { workflowType, attributes, ...start } = clusterStart(uid, settings.temporal.taskQueue);
    const startWorkflowOperation = new WithStartWorkflowOperation<Workflow>(workflowType, {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: searchAttributePairs(attributes),
    });
    // A call that hangs would hold up every reservation of this worker.
    return temporal().withDeadline(now() + answerMs, () =>
      temporal().workflow.executeUpdateWithStart<Workflow, readonly ReserveAnswer[], [ReserveRequest]>(
        updates.reserve,
        {
          args: [request],
          startWorkflowOperation,
        },
      ),
    );
  }

  /** Abandoned means: the node has no taint of ours, and no workflow is about to write one. A failed write may be retried much later. */
  async function isAbandoned({ node: name, nodeUid }: Reservation): Promise<boolean> {
    const node = await readNode(kube, name);
    if (node?.metadata?.uid === nodeUid && nodeView(node, taint).taint?.ours) return false;
    return !(await isSupervised(name));
  }

  async function isSupervised(node: string): Promise<boolean> {
    try {
      return (await temporal().workflow.getHandle(nodeWorkflowId(node)).describe()).status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  /** Releases abandoned reservations; true when there were any. */
  async function reconcile(): Promise<boolean> {
    const { reservations } = await cluster().query<ClusterStatus>(statusQuery);
    const settled = reservations.filter((each) => now() - each.since > settledMs);
    const abandoned = await inParallel(settled, async (each) => ((await isAbandoned(each)) ? [each.nodeUid] : []));
    const returned: Returned = { nodeUids: abandoned.flat() };
    if (returned.nodeUids.length === 0) return false;
    await cluster().signal(signals.returned, returned);
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
