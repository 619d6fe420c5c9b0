/** Kubernetes Events, as shown by `kubectl describe`. */

import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Announcement } from '../../contract/wire/activities.ts';
import { oneLine } from '../../contract/text.ts';
import type { Kube } from '../client/connection.ts';
import { isConflict, kubeError } from '../client/errors.ts';
import { jobKinds } from '../jobs/kinds/index.ts';
import { collectionPath } from '../client/request-url.ts';
import { askKube } from '../client/requests.ts';

interface Involved {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
}

const involved = ({ about }: Announcement): Involved => {
  if (about.kind === 'node')
    return { apiVersion: 'v1', kind: 'Node', name: about.name, ...(about.uid !== undefined && { uid: about.uid }) };
  if (about.kind === 'pod')
    return { apiVersion: 'v1', kind: 'Pod', namespace: about.namespace, name: about.name, uid: about.uid };
  return {
    apiVersion: jobKinds[about.job.kind].apiVersion,
    kind: jobKinds[about.job.kind].objectKind,
    name: about.job.name,
    namespace: about.job.namespace,
    uid: about.job.uid,
  };
};

/** The Event of an announcement. Its name is derived from its content, so a repeated write finds it. Pure. */
export function eventOf(announcement: Announcement, now: number) {
  const object = involved(announcement);
  const identity = [announcement.key, announcement.reason, object.uid ?? object.name].join('\n');
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    // Events of objects without a namespace live in `default`.
    metadata: {
      name: `kcover.${createHash('sha256').update(identity).digest('hex').slice(0, 24)}`,
      namespace: object.namespace ?? 'default',
    },
    involvedObject: object,
    type: announcement.type,
    reason: announcement.reason,
    message: oneLine(announcement.message, 1024),
    source: { component: 'kcover' },
    reportingComponent: 'kcover',
    reportingInstance: 'kcover-worker',
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}

/** Writes the Event, or finds that it exists. Throws transient errors, so that it is tried again; a refusal of the server is logged. */
export async function announceEvent(kube: Kube, announcement: Announcement, now: number, log: Logger): Promise<void> {
  const event = eventOf(announcement, now);
  const doing = `write an Event on ${event.involvedObject.kind} ${event.involvedObject.name}`;
  const body = { contentType: 'application/json', text: JSON.stringify(event) };
  try {
    await askKube(
      kube,
      { method: 'POST', path: collectionPath('/api/v1', event.metadata.namespace, 'events'), body },
      doing,
    );
  } catch (error) {
    // An earlier attempt wrote it, and its answer was lost.
    if (isConflict(error)) return;
    const known = kubeError(error, doing);
    log.warn({ key: announcement.key, reason: announcement.reason, because: known.because }, 'Event not written');
    if (known.code === 'kube.unreachable' || known.code === 'kube.throttled') throw known;
  }
}
