/** Nodes that stay not ready: their kubelet no longer answers for the pods of a job. */

import type { Logger } from 'pino';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { hasAccelerators, readinessOf } from '../../kube/nodes/nodes.ts';
import { judgeOutages, type Outage } from '../../policy/node/readiness.ts';
import { logDefects } from '../log-defects.ts';

type Node = Parameters<typeof readinessOf>[0];

export interface OutagesOptions {
  readonly settings: ControllerSettings['nodes'];
  readonly notify: (node: string, fault: Fault) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface Outages {
  /** A Node object as the watch saw it. */
  see(node: Node): void;
  forget(node: string): void;
  /** Whether the watch is up to date: nothing is judged before its first list and during its outages, and that time does not count. */
  setReachable(isReachable: boolean): void;
  /** Names of the nodes that are judged. */
  accelerated(): readonly string[];
}

const longestTimerMs = 2 ** 31 - 1;

/** Remembers since when each node is out, by our own clock: a new leader waits the whole time again before it judges. */
export function followOutages({ settings, notify, log, signal }: OutagesOptions): Outages {
  const accelerated = new Set<string>();
  const out = new Map<string, Outage>();
  /** By node: the reported fault of its present outage. */
  const reported = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let isUpToDate = false;
  let unobservable: string | undefined;
  /** Since when no node can be judged, ms of our own clock: the watch is not up to date, or too many nodes are out. */
  let unobservableSince: number | undefined = performance.now();
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });

  function judge(): void {
    clearTimeout(timer);
    if (signal.aborted || !isUpToDate) return;
    const now = performance.now();
    const verdict = judgeOutages([...out.values()], accelerated.size, now, settings);
    if (verdict.unobservable !== unobservable) {
      unobservable = verdict.unobservable;
      log.warn(
        { unobservable },
        unobservable === undefined ? 'nodes can be judged again' : 'unobservable: no node is judged',
      );
      if (observe()) return judge();
    }
    for (const fault of verdict.faults) {
      const { node } = fault;
      if (node === undefined || reported.get(node) === fault.id) continue;
      reported.set(node, fault.id);
      log.warn({ node, fault: fault.id, because: fault.message }, 'a node stays not ready');
      notify(node, fault);
    }
    if (verdict.lookAt !== undefined)
      timer = setTimeout(
        () => logDefects(log, 'nodes could not be judged', {}, judge),
        Math.min(longestTimerMs, Math.max(1, verdict.lookAt - now)),
      );
  }

  /** Excludes the time in which outages could not be observed; true when that has just ended. */
  function observe(): boolean {
    const now = performance.now();
    const from = unobservableSince;
    unobservableSince = isUpToDate && unobservable === undefined ? undefined : (from ?? now);
    if (from === undefined || unobservableSince !== undefined) return false;
    for (const [node, outage] of out)
      out.set(node, { ...outage, since: outage.since + now - Math.max(from, outage.since) });
    return true;
  }

  function back(node: string): void {
    reported.delete(node);
    if (out.delete(node)) judge();
  }

  function see(object: Node): void {
    const { name = '', uid = '' } = object.metadata ?? {};
    if (!hasAccelerators(object)) return forget(name);
    const isNew = !accelerated.has(name);
    accelerated.add(name);
    const { ready, transition, because } = readinessOf(object);
    const before = out.get(name);
    if (ready) back(name);
    // Another transition is another outage: the node may have been ready in between.
    else if (before?.uid !== uid || before.transition !== transition)
      out.set(name, { node: name, uid, transition, because, since: performance.now() });
    else if (!isNew) return;
    judge();
  }

  function forget(node: string): void {
    accelerated.delete(node);
    back(node);
  }

  return {
    see,
    forget,
    setReachable(now) {
      isUpToDate = now;
      observe();
      if (isUpToDate) judge();
      else clearTimeout(timer);
    },
    accelerated: () => [...accelerated],
  };
}
