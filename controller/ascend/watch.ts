/** What Ascend's device plugin and NodeD say about nodes: faults in their ConfigMaps, and heartbeats. */

import type { V1Node } from '@kubernetes/client-node';
import type { Fault } from '../../contract/faults/faults.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { AscendReport } from '../../faults/ascend/config-map.ts';
import { heartbeatLabel, heartbeatOf } from '../../faults/ascend/heartbeat.ts';
import { deviceCounts } from '../../faults/devices/allocatable.ts';
import type { Unobserved } from '../../faults/finding.ts';
import { timeOrEpoch } from '../../kube/client/time.ts';
import { readJudgedState } from '../../kube/nodes/judged.ts';
import { type FaultLimits, limitFaults } from '../intake/fault-rates.ts';
import type { WatchContext } from '../watch/follow.ts';
import type { NodeObserver, NodesWatch } from '../watch/nodes.ts';
import { watchUnobservable } from '../watch/unobservable.ts';
import { followHeartbeats } from './heartbeats.ts';
import { type ReportedNode, type Reports, watchReports } from './reports.ts';

export interface AscendWatchOptions extends WatchContext, Pick<NodesWatch, 'object' | 'report'> {
  readonly settings: ControllerSettings['nodes']['ascend'];
  readonly limits: FaultLimits;
}

/** Does nothing without namespaces. */
export function watchAscend(options: AscendWatchOptions): NodeObserver {
  const { settings, limits, object, report, log, signal } = options;
  if (settings.namespaces.length === 0) return { lookAgain: () => undefined, setNodesReachable: () => undefined };
  const rates = limitFaults(limits, () => performance.now());
  const unobservable = watchUnobservable(options);
  const heartbeats = followHeartbeats({ onChange: showUnobservable, log, signal });
  /** Watches that are not up to date; heartbeats are seen by all of them. */
  const broken = new Set<string>(['nodes', ...settings.namespaces.map(watchOf)]);
  const watches: readonly Reports[] = settings.namespaces.map((namespace) =>
    watchReports({
      ...options,
      namespace,
      debounceMs: settings.debounce,
      node: (name) => reportedNode(object(name)),
      send,
      onReport(node, read) {
        if (read.isRead) seeHeartbeat(node, namespace, read);
        // Of a node that does not exist nothing else would be forgotten.
        else if (!object(node)) heartbeats.forget(node);
        showUnobservable(node);
      },
      onReachability: (isReachable) => setReachable(watchOf(namespace), isReachable),
    }),
  );

  function setReachable(watch: string, isReachable: boolean): void {
    if (isReachable) broken.delete(watch);
    else broken.add(watch);
    heartbeats.setReachable(broken.size === 0);
  }

  function seeHeartbeat(node: string, namespace: string, { what, heartbeat }: AscendReport): void {
    heartbeats.see(node, `${namespace}/${what}`, heartbeat);
  }

  function showUnobservable(node: string): void {
    unobservable.see(node, [...watches.flatMap((watch) => watch.unobservable(node)), ...lostNodeD(node)]);
  }

  function lostNodeD(node: string): readonly Unobserved[] {
    const because = hasHeartbeats(object(node)) ? heartbeats.whyLost(node) : undefined;
    return because === undefined ? [] : [{ source: 'device-plugin', what: 'NodeD', node, because }];
  }

  function send(node: string, fault: Fault): boolean {
    const [admitted] = rates.admit(node, [{ seq: 1, fault }]).send;
    if (admitted) report(node, admitted);
    return admitted !== undefined;
  }

  return {
    lookAgain(node) {
      const seen = object(node);
      if (seen) heartbeats.see(node, 'Node', heartbeatOf(seen.metadata?.annotations));
      else heartbeats.forget(node);
      for (const watch of watches) watch.lookAgain(node);
      showUnobservable(node);
    },
    setNodesReachable: (isReachable) => setReachable('nodes', isReachable),
  };
}

const watchOf = (namespace: string): string => `configmaps in ${namespace}`;

const hasHeartbeats = (node: V1Node | undefined): boolean =>
  node?.metadata?.labels?.[heartbeatLabel.key] === heartbeatLabel.value;

/** A node without accelerators trains nothing. One that has lost all of them keeps the names of its resources. */
function reportedNode(node: V1Node | undefined): ReportedNode | undefined {
  const { capacity = {}, allocatable = {} } = node?.status ?? {};
  if (!node || deviceCounts({ capacity, allocatable }).length === 0) return undefined;
  const { uid = '', creationTimestamp } = node.metadata ?? {};
  return { uid, createdAt: timeOrEpoch(creationTimestamp), recorded: readJudgedState(node).reported ?? [] };
}
