/** A watch that counts its outages and logs defects of its listener. */

import type { Logger } from 'pino';
import type { Kube } from '../../kube/client/connection.ts';
import { watchResource, type WatchEvent, type Watched } from '../../kube/client/watch.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { WorkflowMessage } from '../outbox/messages.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { logDefects } from '../log-defects.ts';

/** What every watcher needs. It ends with the signal. */
export interface WatchContext {
  readonly kube: Kube;
  readonly outbox: Outbox;
  readonly metrics: Pick<ControllerMetrics, 'recoveryLabelsIgnored' | 'unobservable' | 'watchBreaks'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

type Watchable = Parameters<typeof watchResource>[0] extends {
  readonly onEvent: (event: WatchEvent<infer Object>) => void;
}
  ? Object
  : never;

export interface ResourceWatchOptions<T> {
  /** As the metric names it. */
  readonly what: string;
  readonly path: string;
  readonly labelSelector?: string;
  /** The parts of an object that are kept. */
  readonly trim?: (object: T) => T;
  readonly onEvent: (event: WatchEvent<T>) => void;
  /** Called when the watch becomes up to date, or stops being so. */
  readonly onReachability?: (isReachable: boolean) => void;
}

export function follow<T extends Watchable>(
  { kube, metrics, log, signal }: WatchContext,
  options: ResourceWatchOptions<T>,
): Watched<T> {
  const { what, path, labelSelector, trim, onEvent, onReachability } = options;

  /** An object that cannot be reduced is kept whole: otherwise no object of its list would be seen. */
  function trimmed(object: T, reduce: (object: T) => T): T {
    let kept = object;
    const about = { what, object: object.metadata?.name };
    logDefects(log, 'an object could not be reduced', about, () => {
      kept = reduce(object);
    });
    return kept;
  }

  return watchResource<T>({
    kube,
    path,
    signal,
    ...(labelSelector !== undefined && { labelSelector }),
    ...(trim && { trim: (object: T) => trimmed(object, trim) }),
    onEvent(event) {
      logDefects(log, 'a change could not be handled', { what, object: event.object.metadata?.name }, () =>
        onEvent(event),
      );
    },
    onState(state, because) {
      if (state === 'broken') metrics.watchBreaks.inc({ what });
      onReachability?.(state === 'watching');
      log[state === 'broken' ? 'warn' : 'info']({ what, because }, `watch of ${what}: ${state}`);
    },
  });
}

/** Sends for as long as this controller leads. The message is lost only when that ends: the next leader learns the same from its own watches. */
export function enqueue(
  { outbox, log }: Pick<WatchContext, 'outbox' | 'log' | 'signal'>,
  message: WorkflowMessage,
  onLost?: () => void,
): void {
  outbox.send(message).catch((error: unknown) => {
    onLost?.();
    log.debug({ err: error, to: message.workflowId, kind: message.kind }, 'message not sent');
  });
}
