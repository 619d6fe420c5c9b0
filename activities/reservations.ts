/** Asks the cluster's workflow for the right to keep nodes out, with one update in flight for each worker. */

import type { Activities } from '../contract/activities.ts';
import type { ClusterStatus, ReserveAnswer, ReserveRequest, Reservation, Returned } from '../contract/cluster.ts';
import { clusterWorkflowId } from '../contract/ids.ts';
import { signals, statusQuery, updates } from '../contract/messages.ts';
import { acceleratorCounter, nodeView, readNode } from '../kube/nodes.ts';
import { inParallel } from '../kube/parallel.ts';
import type { Dependencies } from './dependencies.ts';
import { oneAtATime } from './lane.ts';

type Wanted = ReserveRequest['wanted'][number];

/** How long the cluster's workflow may take to answer. */
const answerMs = 10_000;

/** A reservation younger than this may belong to a quarantine that is just being written. */
const settledMs = 60_000;

export function reservationActivities({ kube, settings, temporal, now }: Dependencies): Pick<Activities, 'reserveQuarantine'> {
  const { limit: setting, taint } = settings.quarantine;
  const countAccelerators = acceleratorCounter(kube, now);
  const cluster = () => temporal().workflow.getHandle(clusterWorkflowId);

  async function limit(): Promise<ReserveRequest['limit']> {
    const nodes = await countAccelerators();
    const share = Math.floor((nodes * setting.percent) / 100);
    return { nodes: Math.max(setting.atLeast, share), because: `${setting.percent}% of ${nodes} nodes with accelerators, at least ${setting.atLeast}` };
  }

  const ask = (wanted: readonly Wanted[], most: ReserveRequest['limit']): Promise<readonly ReserveAnswer[]> => {
    const request: ReserveRequest = { limit: most, wanted };
    // A call that hangs would hold up every reservation of this worker.
    return temporal().withDeadline(now() + answerMs, () =>
      cluster().executeUpdate<readonly ReserveAnswer[], [ReserveRequest]>(updates.reserve, { args: [request] }),
    );
  };

  async function isAbandoned({ node: name, nodeUid }: Reservation): Promise<boolean> {
    const node = await readNode(kube, name);
    return node?.metadata?.uid !== nodeUid || nodeView(node, taint).taint === undefined;
  }

  /** Gives back what nobody holds any more; true when something was. */
  async function reconcile(): Promise<boolean> {
    const { reservations } = await cluster().query<ClusterStatus>(statusQuery);
    const settled = reservations.filter((each) => now() - each.since > settledMs);
    const abandoned = await inParallel(settled, async (each) => ((await isAbandoned(each)) ? [each.nodeUid] : []));
    const returned: Returned = { nodeUids: abandoned.flat() };
    if (returned.nodeUids.length === 0) return false;
    await cluster().signal(signals.returned, returned);
    return true;
  }

  async function reserve(wanted: readonly Wanted[]): Promise<readonly ReserveAnswer[]> {
    const most = await limit();
    const answers = await ask(wanted, most);
    const refused = wanted.filter((each) => answerFor(each, answers)?.granted !== true);
    if (refused.length === 0 || !(await reconcile())) return inOrder(wanted, answers);
    return inOrder(wanted, [...(await ask(refused, most)), ...answers]);
  }

  const reserveOne = oneAtATime(reserve);
  return { reserveQuarantine: (request) => reserveOne(request) };
}

const answerFor = ({ nodeUid }: Wanted, answers: readonly ReserveAnswer[]): ReserveAnswer | undefined => answers.find((answer) => answer.nodeUid === nodeUid);

const inOrder = (wanted: readonly Wanted[], answers: readonly ReserveAnswer[]): ReserveAnswer[] =>
  wanted.map((each) => answerFor(each, answers) ?? { granted: false, nodeUid: each.nodeUid, because: 'the cluster gave no answer' });
