import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ClusterInput, ClusterStatus, Paused, ReserveAnswer, ReserveRequest, Reservation, Returned, Waiting } from '../contract/cluster.ts';
import { type OperatorWish, signals, statusQuery, updates } from '../contract/messages.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { isObject, textOf } from './faults.ts';
import { perform, tolerate } from './proxies.ts';
import { requireWish } from './wishes.ts';

/** Who is not told asks again by itself. */
const mostWaiting = 1000;

/** What a cluster shares: which nodes may be out, and whether a person has paused everything. Never ends. */
export async function cluster({ clusterUid, carried }: ClusterInput): Promise<void> {
  const reservations = new Map<string, Reservation>(carried?.reservations.map((one) => [one.nodeUid, one]));
  const waiting = new Set<string>(carried?.waiting);
  let paused: Paused | undefined = carried?.paused;
  let changed = carried !== undefined;
  const write = attributeWriter();

  const show = () => {
    write({
      KcoverPhase: paused ? 'paused' : 'open',
      KcoverNode: [...reservations.values()]
        .map((one) => one.node)
        .toSorted()
        .slice(0, 50),
    });
    showDetails(paused ? `paused by ${paused.by}: ${paused.reason}` : 'open', [
      [
        'nodes out',
        [...reservations.values()]
          .map((one) => `${one.node} since ${iso(one.since)}`)
          .toSorted()
          .join(', ') || 'none',
      ],
      ['waiting for permission', [...waiting].toSorted().join(', ') || 'none'],
      ['cluster', clusterUid],
    ]);
  };

  const answer = (wanted: ReserveRequest['wanted'][number], limit: ReserveRequest['limit']): ReserveAnswer => {
    const { nodeUid, node, incident } = wanted;
    const known = reservations.get(nodeUid);
    if (known) return { granted: true, nodeUid, incident: known.incident };
    if (!wanted.byOperator) {
      if (paused) return { granted: false, nodeUid, because: `paused by ${paused.by}: ${paused.reason}` };
      if (reservations.size >= limit.nodes)
        return { granted: false, nodeUid, because: `${reservations.size} nodes are out and ${limit.nodes} may be (${limit.because})` };
    }
    reservations.set(nodeUid, { nodeUid, node, incident, since: Date.now() });
    return { granted: true, nodeUid, incident };
  };

  setHandler(defineQuery<ClusterStatus>(statusQuery), () => ({
    clusterUid,
    reservations: [...reservations.values()],
    waiting: [...waiting],
    ...(paused ? { paused } : {}),
  }));
  setHandler(
    defineUpdate<ReserveAnswer[], [ReserveRequest]>(updates.reserve),
    ({ wanted, limit }) => {
      const answers = wanted.map((one) => answer(one, limit));
      show();
      return answers;
    },
    {
      description: 'Asks for the right to keep nodes out of service',
      validator: (request) => {
        if (!isReserveRequest(request)) throw new Error('`limit` and `wanted` with node, nodeUid and incident are needed');
      },
    },
  );
  setHandler(
    defineUpdate<Paused, [OperatorWish]>(updates.pause),
    ({ by, reason }) => {
      paused = { by, reason, since: Date.now() };
      show();
      return paused;
    },
    { description: 'Stops every quarantine and stop that has not begun', validator: requireWish },
  );
  setHandler(
    defineUpdate<{ wasPaused: boolean }, [OperatorWish]>(updates.resume),
    () => {
      const wasPaused = paused !== undefined;
      paused = undefined;
      changed = true;
      show();
      return { wasPaused };
    },
    { description: 'Ends a pause; what waited is judged anew', validator: requireWish },
  );
  setHandler(defineSignal<[Waiting]>(signals.waiting), (payload) => {
    const workflowId = isObject(payload) ? textOf(payload.workflowId, 1000) : undefined;
    if (workflowId === undefined || waiting.size >= mostWaiting) return;
    waiting.add(workflowId);
    show();
  });
  setHandler(defineSignal<[Returned]>(signals.returned), (payload) => {
    if (!isObject(payload) || !Array.isArray(payload.nodeUids)) return;
    for (const uid of payload.nodeUids.filter((one) => typeof one === 'string')) changed = reservations.delete(uid) || changed;
    show();
  });
  show();

  while (!workflowInfo().continueAsNewSuggested) {
    await condition(() => (changed && waiting.size > 0) || workflowInfo().continueAsNewSuggested);
    if (changed && waiting.size > 0) {
      const workflowIds = [...waiting].toSorted();
      waiting.clear();
      changed = false;
      await tolerate(perform('tellWaiting', `permission may have changed for ${workflowIds.length}`, { workflowIds }));
      show();
    }
  }
  await continueAsNew<typeof cluster>({
    clusterUid,
    carried: { reservations: [...reservations.values()], waiting: [...waiting], ...(paused ? { paused } : {}) },
  });
}

const isReserveRequest = (request: unknown): request is ReserveRequest =>
  isObject(request) &&
  isObject(request['limit']) &&
  typeof request['limit']['nodes'] === 'number' &&
  Array.isArray(request['wanted']) &&
  request['wanted'].every((one) => isObject(one) && ['node', 'nodeUid', 'incident'].every((key) => textOf(one[key]) !== undefined));
