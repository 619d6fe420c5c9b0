/** Watches Node objects: the node's workflow is notified when the node goes, changes or loses our taint; a machine that returns is quarantined again. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { Amounts } from '../../contract/recovery/placement.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import { acceleratorsOf, nodeView, type QuarantineTaint, readinessOf, readNode } from '../../kube/nodes/nodes.ts';
import { limitedTo } from '../../kube/client/parallel.ts';
import { trimNode } from '../../kube/client/trim.ts';
import {
  faultsOfReturned,
  foldNode,
  missedChangeOf,
  quarantinedSince,
  type TrackedNode,
  type WatchedNode,
  watchedNodeOf,
} from '../../policy/node/watch.ts';
import { faultMessage, nodeMessage } from '../outbox/messages.ts';
import type { Workflows } from '../temporal.ts';
import { follow, enqueue, type WatchContext } from './follow.ts';
import { type NodeStateWatch, watchNodeState } from './node-state.ts';
import { followOutages } from './outages.ts';
import { pause, retryWhileLeading } from './retry-while-leading.ts';

type Node = Parameters<typeof nodeView>[0];

export interface NodesWatchOptions extends WatchContext {
  readonly taint: QuarantineTaint;
  readonly workflows: Workflows;
  readonly settings: ControllerSettings['nodes'];
  readonly observer: NodeObserver;
  /** Pauses between looks at a workflow that has not ended yet, ms. */
  readonly lookAgainMs?: readonly number[];
}

/** Another watch whose objects are about nodes. */
export interface NodeObserver {
  /** The Node object was added, changed or deleted. */
  lookAgain(node: string): void;
  setNodesReachable(isReachable: boolean): void;
}

export interface NodesWatch {
  /** A workflow looks after this node from now on. */
  follow(node: string): void;
  /** Whether there is such a node; undefined before the nodes were listed. */
  has(node: string): boolean | undefined;
  /** As it was last seen, without what kcover does not read. */
  object(node: string): Node | undefined;
  /** Accelerators of a node; undefined while it is not seen. */
  acceleratorsOf(node: string): Amounts | undefined;
  /** Names of the nodes with accelerators. */
  accelerated(): readonly string[];
  readonly offered: NodeStateWatch['offered'];
  /** Nodes that kcover quarantined, and since when: ms since the epoch. */
  quarantines(): ReadonlyMap<string, number>;
  /** Sends a fault to the workflow of its node. */
  report(node: string, fault: Fault): void;
  /** Resolves when node workflows were notified of changes while no controller led, and returned machines were checked. */
  readonly settled: Promise<void>;
}

/** Reads at once: all nodes of a rack may fail together. */
const mostReads = 16;

export function watchNodes(options: NodesWatchOptions): NodesWatch {
  const { taint, workflows, observer, log, signal, lookAgainMs = [500, 2000, 10_000, 60_000] } = options;
  const limited = limitedTo(mostReads);
  const trackedNodes = new Map<string, TrackedNode>();
  const accelerators = new Map<string, Amounts>();
  const quarantines = new Map<string, number>();
  /** UIDs that were checked for a returned machine. */
  const looked = new Set<string>();
  let listed = false;
  const outages = followOutages({
    settings: options.settings,
    notify: (node, fault) => void notifyOutage(node, fault),
    log,
    signal,
  });
  const state = watchNodeState({ ...options, send: report });

  const watched = follow<Node>(options, {
    onReachability(isReachable) {
      outages.setReachable(isReachable);
      state.setReachable(isReachable);
      observer.setNodesReachable(isReachable);
    },
    what: 'nodes',
    path: '/api/v1/nodes',
    trim: trimNode,
    onEvent({ type, object }) {
      const view = nodeView(object, taint);
      const seen = type === 'deleted' ? undefined : watchedNodeOf(view);
      if (seen) accelerators.set(view.name, acceleratorsOf(object));
      else accelerators.delete(view.name);
      const since = seen && quarantinedSince(view);
      if (since === undefined) quarantines.delete(view.name);
      else quarantines.set(view.name, since);
      fold(view.name, seen);
      if (seen) {
        outages.see(object);
        state.see(object);
      } else {
        outages.forget(view.name);
        state.forget(view.name);
      }
      observer.lookAgain(view.name);
      if (!seen) looked.delete(view.uid);
      else if (listed) void lookAtReturned(view.name, seen);
    },
  });

  let isListed = false;
  watched.synced.then(
    () => (isListed = true),
    () => undefined,
  );

  /** A watch may stall unnoticed for a while: the node is read before the fault is sent. */
  async function notifyOutage(node: string, fault: Fault): Promise<void> {
    const read = await retryWhileLeading(`read node ${node}`, options, async () => ({
      object: await limited(() => readNode(options.kube, node)),
    }));
    if (!read?.object || readinessOf(read.object).ready || readinessOf(read.object).transition !== fault.seenAt) return;
    followNode(node);
    enqueue(options, faultMessage({ kind: 'node', node }, fault));
  }

  function report(node: string, fault: Fault): void {
    log.warn({ node, fault }, 'a fault of a node');
    followNode(node);
    enqueue(options, faultMessage({ kind: 'node', node }, fault));
  }

  function fold(node: string, seen: WatchedNode | undefined): void {
    const { notify, tracked } = foldNode(trackedNodes.get(node), seen);
    if (!tracked.seen && !tracked.followed) trackedNodes.delete(node);
    else trackedNodes.set(node, tracked);
    if (!notify) return;
    log.info({ node, observed: notify }, 'a node that a workflow looks after changed');
    enqueue(options, nodeMessage(node, notify));
  }

  function followNode(node: string): void {
    const tracked = trackedNodes.get(node);
    trackedNodes.set(node, { ...tracked, followed: true });
  }

  /** Once for each UID, as soon as the machine is known. */
  async function lookAtReturned(node: string, seen: WatchedNode): Promise<void> {
    if (seen.systemUuid === '' || looked.has(seen.uid)) return;
    looked.add(seen.uid);
    for (const wait of [0, ...lookAgainMs]) {
      await pause(wait, signal);
      const last = await retryWhileLeading(`look at the last run of node/${node}`, options, () =>
        workflows.lastRun(node),
      );
      const now = trackedNodes.get(node)?.seen;
      // Gone again, or replaced by now: the new object has its own look.
      if (!last || now?.uid !== seen.uid) return;
      // The run of the previous object may not have ended yet.
      if (last.state === 'running') continue;
      const faults = faultsOfReturned(now, last.state === 'closed' ? last.outcome : undefined);
      if (faults.length === 0) return;
      log.warn(
        { node, faults: faults.map(({ id, code }) => ({ id, code })) },
        'a machine has returned whose Node object was deleted during a quarantine',
      );
      followNode(node);
      for (const fault of faults) enqueue(options, faultMessage({ kind: 'node', node }, fault));
      return;
    }
  }

  async function settle(): Promise<void> {
    const found = await retryWhileLeading('list the workflows of nodes', options, async () => {
      await watched.synced;
      const present = new Map([...trackedNodes].flatMap(([node, { seen }]) => (seen ? [[node, seen] as const] : [])));
      const [running, gone] = await Promise.all([workflows.runningNodes(), workflows.nodesGone()]);
      return { present, running, gone: new Set(gone) };
    });
    if (!found) return;
    listed = true;
    for (const node of found.running) {
      followNode(node);
      const missed = missedChangeOf(trackedNodes.get(node)?.seen);
      if (missed) enqueue(options, nodeMessage(node, missed));
    }
    // Nodes that were there all the time did not return, and need no look.
    for (const [node, seen] of found.present) if (!found.gone.has(node)) looked.add(seen.uid);
    await Promise.all([...trackedNodes].flatMap(([node, { seen }]) => (seen ? [lookAtReturned(node, seen)] : [])));
  }

  const settled = settle().catch((error: unknown) =>
    log.error({ err: error }, 'defect: the nodes could not be checked'),
  );
  return {
    follow: followNode,
    has: (node) => accelerators.has(node) || (isListed ? false : undefined),
    object: (node) => watched.get(undefined, node),
    acceleratorsOf: (node) => accelerators.get(node),
    accelerated: outages.accelerated,
    offered: state.offered,
    quarantines: () => quarantines,
    report,
    settled,
  };
}
