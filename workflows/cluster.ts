import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ClusterInput, ClusterStatus, Paused, ReserveAnswer, ReserveRequest, Returned, Waiting } from '../contract/cluster.ts';
import { notCounted, type OperatorWish, signals, statusQuery, updates } from '../contract/messages.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { setAlarm } from './alarm.ts';
import { ClusterMemory } from './cluster-memory.ts';
import { isObject, textOf } from './faults.ts';
import { attempt, perform, tolerate } from './proxies.ts';
import { requireWish } from './wishes.ts';

/** So many are told in one activity, each with a deadline of its own, so that what is done is not done again. */
const toldTogether = 50;

/** Then a quarantine that was being written when this run began has been written, or given up. ms */
const countAgainMs = 2 * 60_000;

/** A pause that could not be kept is tried again then. ms */
const keepAgainMs = 60_000;

/** What a cluster shares: which nodes may be out, and whether a person has paused everything. Never ends by itself; whoever needs it starts it again. */
export async function cluster({ clusterUid, carried }: ClusterInput): Promise<void> {
  const memory = new ClusterMemory(carried);
  const write = attributeWriter();
  let keeping = false;

  setHandler(defineQuery<ClusterStatus>(statusQuery), () => ({ clusterUid, ...memory.status() }));
  setHandler(defineUpdate<ReserveAnswer[], [ReserveRequest]>(updates.reserve), (request) => seen(memory.reserve(request, Date.now())), {
    description: 'Asks for the right to keep nodes out of service',
    validator: (request) => {
      if (!memory.isCounted) throw new Error(notCounted);
      if (!isReserveRequest(request)) throw new Error('`limit` and `wanted` with node, nodeUid and incident are needed');
    },
  });
  setHandler(defineUpdate<Paused, [OperatorWish]>(updates.pause), (wish) => seen(memory.pause(wish, Date.now())), {
    description: 'Stops every quarantine and stop that has not begun',
    validator: requireWish,
  });
  setHandler(defineUpdate<{ wasPaused: boolean }, [OperatorWish]>(updates.resume), (wish) => seen(memory.resume(wish, Date.now())), {
    description: 'Ends a pause; what waited is judged anew',
    validator: (wish) => {
      requireWish(wish);
      if (!memory.isCounted) throw new Error(notCounted);
    },
  });
  setHandler(defineSignal<[Waiting]>(signals.waiting), (payload) => {
    memory.wait(isObject(payload) ? textOf(payload.workflowId, 1000) : undefined);
    show();
  });
  setHandler(defineSignal<[Returned]>(signals.returned), (payload) => {
    if (isObject(payload) && Array.isArray(payload.nodeUids)) memory.giveBack(payload.nodeUids);
    show();
  });
  show();

  let recount = memory.isCounted ? undefined : setAlarm(countAgainMs, 'count once more what was being written');
  if (!memory.isCounted) await count();
  show();
  while (!workflowInfo().continueAsNewSuggested) {
    const hasNews = () => memory.changed && memory.waiting.size > 0;
    await condition(() => hasNews() || recount?.rang === true || workflowInfo().continueAsNewSuggested);
    if (recount?.rang) {
      recount = undefined;
      await count();
    }
    if (hasNews()) await tellWaiting();
    show();
  }
  await continueAsNew<typeof cluster>({ clusterUid, carried: memory.carry() });

  async function count(): Promise<void> {
    memory.count(await perform('observeCluster', 'which nodes are out already, and is a pause kept?', { clusterUid }));
  }

  async function tellWaiting(): Promise<void> {
    const waiting = memory.takeWaiting();
    for (let from = 0; from < waiting.length; from += toldTogether) {
      const workflowIds = waiting.slice(from, from + toldTogether);
      await tolerate(perform('tellWaiting', `permission may have changed for ${workflowIds.length}`, { workflowIds }));
    }
  }

  /** Until the last word about a pause stands outside of this workflow too. It counts from the moment in which it was said. */
  async function keepPause(): Promise<void> {
    keeping = true;
    for (let word = memory.unkept; word; word = memory.unkept) {
      const kept = await attempt(perform('keepPause', `keep that it is ${word.state}, said by ${word.by}`, word));
      if (memory.unkept !== word) continue;
      if ('failed' in kept) memory.unkeptBecause = kept.failed;
      else memory.unkept = undefined;
      show();
      if ('failed' in kept) await condition(() => memory.unkept !== word, keepAgainMs);
    }
    keeping = false;
  }

  /** Shows what an update changed. */
  function seen<Answer>(answer: Answer): Answer {
    show();
    return answer;
  }

  function show(): void {
    const { paused } = memory;
    // It ends early only when this workflow does.
    if (memory.unkept && !keeping) void keepPause().catch(() => undefined);
    write({ KcoverPhase: memory.isCounted || paused ? (paused ? 'paused' : 'open') : 'starting', KcoverNode: memory.nodes() });
    const out = [...memory.reservations.values()].map(({ node, since, preflight }) => `${node} since ${iso(since)}${preflight ? ' (preflight)' : ''}`);
    showDetails(paused ? `paused by ${paused.by}: ${paused.reason}` : 'open', [
      ['nodes out', memory.isCounted ? out.toSorted().join(', ') || 'none' : 'being counted'],
      ['waiting for permission', [...memory.waiting].toSorted().join(', ') || 'none'],
      ['not yet kept outside of Temporal', memory.status().unkept],
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
