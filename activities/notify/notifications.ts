/** Notifies people outside of the cluster: Events of the worker become signals to the workflows of routes, which send them. */

import { createHash } from 'node:crypto';
import type { Activities, Announcement } from '../../contract/wire/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { NotifyPayload } from '../../contract/notify/payload.ts';
import { signals } from '../../contract/wire/messages.ts';
import { notifyStart } from '../../contract/wire/starts.ts';
import { notificationOf, routesFor } from '../../policy/notify/notification.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { readJob } from '../../kube/jobs/jobs.ts';
import type { Dependencies } from '../dependencies.ts';
import { deliver } from './deliver.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

type Needed = Pick<Dependencies, 'kube' | 'settings' | 'temporal' | 'now'>;

/** Queues the Event for every route that carries it; a repeat is recognised by its id. */
export async function queueNotification(dependencies: Needed, event: Announcement): Promise<void> {
  const { settings, temporal, now } = dependencies;
  const { notifications } = settings;
  if (notifications.routes.length === 0) return;
  const notification = notificationOf(event, { at: now(), ui: notifications.ui, digest: sha256 });
  if (!notification) return;
  const payload: NotifyPayload = { notification, object: event.about };
  for (const route of routesFor(notification, notifications, await wantedBy(dependencies, event))) {
    const { workflowType, attributes, ...start } = notifyStart(route, settings.temporal.taskQueue);
    await temporal().workflow.signalWithStart(workflowType, {
      ...start,
      typedSearchAttributes: searchAttributePairs(attributes),
      signal: signals.notify,
      signalArgs: [payload],
    });
  }
}

/** The routes that the job of the Event names, read only where a route may be named. A job that is gone names none. */
async function wantedBy({ kube, settings }: Needed, { about }: Announcement): Promise<readonly string[]> {
  if (about.kind !== 'job' || !settings.notifications.routes.some(({ subscribe }) => subscribe)) return [];
  return (await readJob(kube, about.job, settings.quarantine.taint))?.overrides?.notify ?? [];
}

export const notificationActivities = ({
  settings,
}: Pick<Dependencies, 'settings'>): Pick<Activities, 'deliverNotification'> => ({
  async deliverNotification({ route: name, notifications, more }) {
    const route = settings.notifications.routes.find((one) => one.name === name);
    if (!route) throw new KcoverError('notify.refused', `route ${name} is no longer in the settings`);
    await deliver(route, notifications, more);
  },
});
