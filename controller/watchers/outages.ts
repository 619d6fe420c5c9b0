/** Nodes that stay not ready: their kubelet no longer answers for the pods of a job. */

import type { Logger } from 'pino';
import type { ControllerSettings } from '../../contract/settings.schema.ts';
import type { Fault } from '../../contract/faults.ts';
import { hasAccelerators, readinessOf } from '../../kube/nodes.ts';
import { judgeOutages, type Outage } from '../../policy/node-readiness.ts';

type Node = Parameters<typeof readinessOf>[0];

export interface OutagesOptions {
  readonly settings: ControllerSettings['nodes'];
  readonly tell: (node: string, fault: Fault) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface Outages {
  /** A Node object as the watch saw it. */
  see(node: Node): void;
  forget(node: string): void;
  /** Names of the nodes that are judged. */
  accelerated(): readonly string[];
}

/** Remembers who is out since when, by our own clock: a new leader waits the whole time anew before it judges. */
export function followOutages({ settings, tell, log, signal }: OutagesOptions): Outages {
  const accelerated = new Set<string>();
  const out = new Map<string, Outage>();
  const told = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let blind: string | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });

  function judge(): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    const now = performance.now();
    const verdict = judgeOutages([...out.values()], accelerated.size, now, settings);
    if (verdict.blind !== blind) log.warn({ blind: verdict.blind }, verdict.blind === undefined ? 'nodes can be judged again' : 'blind: no node is judged');
    blind = verdict.blind;
    for (const fault of verdict.faults) {
      if (told.has(fault.id) || fault.node === undefined) continue;
      told.add(fault.id);
      log.warn({ node: fault.node, fault: fault.id, because: fault.message }, 'a node does not come back');
      tell(fault.node, fault);
    }
    if (verdict.lookAt !== undefined) timer = setTimeout(judge, Math.max(1, verdict.lookAt - now));
  }

  function forget(node: string): void {
    accelerated.delete(node);
    const known = out.delete(node);
    if (known) judge();
  }

  return {
    see(object) {
      const { name = '', uid = '' } = object.metadata ?? {};
      if (!hasAccelerators(object)) return forget(name);
      accelerated.add(name);
      const { ready, transition, because } = readinessOf(object);
      const before = out.get(name);
      if (ready) {
        if (out.delete(name)) judge();
        return;
      }
      if (before?.uid === uid && before.transition === transition) return;
      // A condition that changes its words is the same outage as long as it was not ready in between.
      out.set(name, before?.uid === uid ? before : { node: name, uid, transition, because, since: performance.now() });
      judge();
    },
    forget,
    accelerated: () => [...accelerated],
  };
}
