/** Events about an object, as shown by `kubectl describe`. */

import type { CoreV1Event, KubernetesListObject } from '@kubernetes/client-node';
import type { Kube } from '../client/connection.ts';
import { collectionPath } from '../client/request-url.ts';
import { askKube, continueOf } from '../client/requests.ts';
import { timeOrEpoch } from '../client/time.ts';

export interface ObjectEvent {
  /** RFC 3339: time of the last occurrence. */
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly from: string;
}

/** Selects objects of a kind in a namespace, all or one. */
export interface EventsOf {
  readonly namespace: string;
  readonly kind: string;
  readonly name?: string;
  readonly signal: AbortSignal;
}

/** Most pages of 500 Events. A namespace may hold very many, and the API server scans all of them. */
const pages = 20;

/** Newest first, by the UID of the object; for a node by its name, which kubelets write in place of a UID. `more`: there were too many to read all. */
export async function eventsByObject(
  kube: Kube,
  { namespace, kind, name, signal }: EventsOf,
): Promise<{ readonly of: ReadonlyMap<string, readonly ObjectEvent[]>; readonly more: boolean }> {
  const fieldSelector = [
    `involvedObject.kind=${kind}`,
    ...(name === undefined ? [] : [`involvedObject.name=${name}`]),
  ].join(',');
  const found: CoreV1Event[] = [];
  let next: string | undefined;
  for (let page = 0; page < pages; page++) {
    const query = { fieldSelector, limit: '500', continue: next };
    const path = collectionPath('/api/v1', namespace, 'events');
    const list: KubernetesListObject<CoreV1Event> = await askKube(
      kube,
      { method: 'GET', path, query, signal },
      `list the Events of ${kind}s in ${namespace}`,
    );
    found.push(...list.items);
    next = continueOf(list);
    if (next === undefined) break;
  }
  const byKey = Map.groupBy(
    found,
    ({ involvedObject }) => (kind === 'Node' ? involvedObject.name : involvedObject.uid) ?? '',
  );
  return {
    of: new Map(
      [...byKey].map(([key, events]) => [key, events.map(objectEvent).toSorted((a, b) => b.at.localeCompare(a.at))]),
    ),
    more: next !== undefined,
  };
}

const objectEvent = ({
  eventTime,
  firstTimestamp,
  lastTimestamp,
  series,
  type,
  reason,
  message,
  count,
  source,
  reportingComponent,
}: CoreV1Event): ObjectEvent => ({
  at: timeOrEpoch(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp),
  type: type ?? '',
  reason: reason ?? '',
  message: message ?? '',
  count: series?.count ?? count ?? 1,
  from: reportingComponent || (source?.component ?? ''),
});
