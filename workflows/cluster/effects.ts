/** What the cluster's workflow does outside: it counts nodes, notifies workflows, and stores a pause. */

import { condition } from '@temporalio/workflow';
import { attempt, perform, tolerate } from '../proxies.ts';
import type { Machine } from '../state-machine.ts';
import type { ClusterState } from './state.ts';
import type { ClusterEvent } from './transitions.ts';

type Dispatch = (event: ClusterEvent) => void;

/** Workflows notified by one activity, each with its own deadline; a retry then repeats little. */
const notifiedAtOnce = 50;

/** Time until storing a pause is tried again. ms */
const storeAgainMs = 60_000;

export async function count(clusterUid: string): Promise<ClusterEvent> {
  return {
    kind: 'counted',
    seen: await perform('observeCluster', 'which nodes are out already, and is a pause stored?', { clusterUid }),
  };
}

/** Notifies those that waited; a workflow that registers meanwhile is notified of the next change. */
export async function notifyWaiting({ waiting: ids }: ClusterState, dispatch: Dispatch): Promise<void> {
  const waiting = ids.toSorted();
  dispatch({ kind: 'notifying' });
  for (let from = 0; from < waiting.length; from += notifiedAtOnce) {
    const workflowIds = waiting.slice(from, from + notifiedAtOnce);
    await tolerate(
      perform('notifyWaiting', `reservations may be available for ${workflowIds.length}`, { workflowIds }),
    );
  }
}

/** Repeats until the last pause or resume is stored outside of this workflow too. It takes effect at once, stored or not. */
export async function storePause(machine: Machine<ClusterState, ClusterEvent>, dispatch: Dispatch): Promise<void> {
  for (let pause = machine.state.unstored?.pause; pause; pause = machine.state.unstored?.pause) {
    const current = pause;
    const stored = await attempt(
      perform('storePause', `store that it is ${pause.state}, requested by ${pause.by}`, pause),
    );
    if ('done' in stored) {
      dispatch({ kind: 'pauseStored', pause });
      continue;
    }
    dispatch({ kind: 'pauseNotStored', pause, because: stored.failed });
    if (machine.state.unstored?.pause === current)
      await condition(() => machine.state.unstored?.pause !== current, storeAgainMs);
  }
}
