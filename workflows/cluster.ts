import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ClusterInput, ClusterStatus, Paused, ReserveAnswer, ReserveRequest, Returned, WaitingWorkflow } from '../contract/cluster.ts';
import { notCounted, type OperatorRequest, signals, statusQuery, updates } from '../contract/messages.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { startTimer } from './timer.ts';
import { ClusterState } from './cluster-state.ts';
import { isObject, textOf } from './faults.ts';
import { attempt, perform, tolerate } from './proxies.ts';
import { validateOperatorRequest } from './operator-requests.ts';

/** Workflows notified by one activity, each with its own deadline; a retry then repeats little. */
const notifiedAtOnce = 50;

/** By then, a quarantine that was being written when this run began has been written, or given up. ms */
const countAgainMs = 2 * 60_000;

/** Time until storing a pause is tried again. ms */
const keepAgainMs = 60_000;

/** State that a cluster shares: which nodes may be out, and whether a person has paused everything. Never ends by itself; callers start it when it does not run. */
export async function cluster({ clusterUid, continued }: ClusterInput): Promise<void> {
  const state = new ClusterState(continued);
  const write = attributeWriter();
  let keeping = false;

  setHandler(defineQuery<ClusterStatus>(statusQuery), () => ({ clusterUid, ...state.status() }));
  setHandler(defineUpdate<ReserveAnswer[], [ReserveRequest]>(updates.reserve), (request) => published(state.reserve(request, Date.now())), {
    description: 'Asks for the right to keep nodes out of service',
    validator: (request) => {
      if (!state.isCounted) throw new Error(notCounted);
      if (!isReserveRequest(request)) throw new Error('`limit` and `wanted` with node, nodeUid and incident are needed');
    },
  });
  setHandler(defineUpdate<Paused, [OperatorRequest]>(updates.pause), (request) => published(state.pause(request, Date.now())), {
    description: 'Stops every quarantine and stop that has not begun',
    validator: validateOperatorRequest,
  });
  setHandler(defineUpdate<{ wasPaused: boolean }, [OperatorRequest]>(updates.resume), (request) => published(state.resume(request, Date.now())), {
    description: 'Ends a pause; what waited is judged anew',
    validator: (request) => {
      validateOperatorRequest(request);
      if (!state.isCounted) throw new Error(notCounted);
    },
  });
  setHandler(defineSignal<[WaitingWorkflow]>(signals.waiting), (payload) => {
    state.wait(isObject(payload) ? textOf(payload.workflowId, 1000) : undefined);
    show();
  });
  setHandler(defineSignal<[Returned]>(signals.returned), (payload) => {
    if (isObject(payload) && Array.isArray(payload.nodeUids)) state.releaseReservations(payload.nodeUids);
    show();
  });
  show();

  let recount = state.isCounted ? undefined : startTimer(countAgainMs, 'count once more: writes may have been under way');
  if (!state.isCounted) await count();
  show();
  while (!workflowInfo().continueAsNewSuggested) {
    const mustNotify = () => state.changed && state.waiting.size > 0;
    await condition(() => mustNotify() || recount?.fired === true || workflowInfo().continueAsNewSuggested);
    if (recount?.fired) {
      recount = undefined;
      await count();
    }
    if (mustNotify()) await notifyWaiting();
    show();
  }
  await continueAsNew<typeof cluster>({ clusterUid, continued: state.continueAsNewState() });

  async function count(): Promise<void> {
    state.count(await perform('observeCluster', 'which nodes are out already, and is a pause kept?', { clusterUid }));
  }

  async function notifyWaiting(): Promise<void> {
    const waiting = state.takeWaiting();
    for (let from = 0; from < waiting.length; from += notifiedAtOnce) {
      const workflowIds = waiting.slice(from, from + notifiedAtOnce);
      await tolerate(perform('notifyWaiting', `reservations may be available for ${workflowIds.length}`, { workflowIds }));
    }
  }

  /** Repeats until the last pause or resume is stored outside of this workflow too. It takes effect at once, stored or not. */
  async function keepPause(): Promise<void> {
    keeping = true;
    for (let word = state.unkept; word; word = state.unkept) {
      const kept = await attempt(perform('keepPause', `store that it is ${word.state}, requested by ${word.by}`, word));
      if (state.unkept !== word) continue;
      if ('failed' in kept) state.unkeptBecause = kept.failed;
      else state.unkept = undefined;
      show();
      if ('failed' in kept) await condition(() => state.unkept !== word, keepAgainMs);
    }
    keeping = false;
  }

  /** Publishes what an update changed, and passes its answer on. */
  function published<Answer>(answer: Answer): Answer {
    show();
    return answer;
  }

  function show(): void {
    const { paused } = state;
    // It rejects only when this workflow itself ends.
    if (state.unkept && !keeping) void keepPause().catch(() => undefined);
    write({ KcoverPhase: state.isCounted || paused ? (paused ? 'paused' : 'open') : 'starting', KcoverNode: state.nodes() });
    const out = [...state.reservations.values()].map(({ node, since, preflight }) => `${node} since ${iso(since)}${preflight ? ' (preflight)' : ''}`);
    showDetails(paused ? `paused by ${paused.by}: ${paused.reason}` : 'open', [
      ['nodes out', state.isCounted ? out.toSorted().join(', ') || 'none' : 'being counted'],
      ['waiting for a reservation', [...state.waiting].toSorted().join(', ') || 'none'],
      ['not yet stored outside of Temporal', state.status().unkept],
      ['cluster', clusterUid],
    ]);
  }
}

const isReserveRequest = (request: unknown): request is ReserveRequest =>
  isObject(request) &&
  isObject(request['limit']) &&
  typeof request['limit']['nodes'] === 'number' &&
  isObject(request['limit']['preflight']) &&
  Array.isArray(request['wanted']) &&
  request['wanted'].every((one) => isObject(one) && ['node', 'nodeUid', 'incident'].every((key) => textOf(one[key]) !== undefined));
