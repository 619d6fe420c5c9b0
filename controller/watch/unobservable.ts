/** Nodes of which something cannot be observed: logged when it begins and ends, and counted. It is never a fault. */

import type { Unobserved } from '../../faults/finding.ts';
import type { WatchContext } from './follow.ts';

export interface UnobservableWatch {
  /** All that cannot be observed of the node now. */
  see(node: string, now: readonly Unobserved[]): void;
}

export function watchUnobservable({
  metrics,
  log,
  signal,
}: Pick<WatchContext, 'metrics' | 'log' | 'signal'>): UnobservableWatch {
  const byNode = new Map<string, ReadonlyMap<string, Unobserved>>();
  const counts = new Map<string, number>();
  // The next leader counts.
  signal.addEventListener('abort', () => metrics.unobservable.reset(), { once: true });

  function count(what: string, by: number): void {
    const nodes = (counts.get(what) ?? 0) + by;
    if (nodes > 0) counts.set(what, nodes);
    else counts.delete(what);
    if (nodes > 0) metrics.unobservable.set({ what }, nodes);
    else metrics.unobservable.remove({ what });
  }

  return {
    see(node, now) {
      const before = byNode.get(node) ?? new Map<string, Unobserved>();
      const after = new Map(now.map((one) => [one.what, one]));
      if (after.size === 0) byNode.delete(node);
      else byNode.set(node, after);
      for (const [what, { source, because }] of after) {
        if (before.has(what)) continue;
        count(what, 1);
        log.warn({ node, source, what, because }, 'unobservable: something is not known of a node');
      }
      for (const what of before.keys()) {
        if (after.has(what)) continue;
        count(what, -1);
        log.info({ node, what }, 'it can be observed again');
      }
    },
  };
}
