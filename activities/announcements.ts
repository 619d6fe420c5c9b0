/** Kubernetes Events: written by an activity of their own, or by another activity that takes them along. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Activities, Announcements } from '../contract/wire/activities.ts';
import { announceEvent } from '../kube/events/events.ts';
import type { Dependencies } from './dependencies.ts';
import { queueNotification } from './notify/notifications.ts';
import { type Activity, mapActivities } from './map-activities.ts';

export function announcementActivities(
  dependencies: Pick<Dependencies, 'kube' | 'log' | 'now' | 'settings' | 'temporal'>,
): Pick<Activities, 'announce'> {
  const { kube, log, now } = dependencies;
  return {
    /** In order. A failed write does not keep the others back; afterwards all are tried again. */
    async announce({ events }) {
      const failed: unknown[] = [];
      for (const event of events) {
        await announceEvent(kube, event, now(), log).catch((error: unknown) => failed.push(error));
        await queueNotification(dependencies, event).catch((error: unknown) => failed.push(error));
      }
      if (failed.length > 0) throw failed[0];
    },
  };
}

/** How long an activity waits for the Events that it took along, ms. */
const waitMs = 2000;

/** After that, how often they are tried again, and the first pause, ms, which doubles. */
const tries = 8;
const pauseMs = 500;

/**
 * The same activities; each also writes the Events of its second argument, and neither waits long for them nor fails for them. They are lost when
 * the API server refuses them and this process ends before it accepts them: the history has what they say.
 */
export function withAnnouncements(activities: Activities, log: Pick<Dependencies['log'], 'warn'>): Activities {
  async function write({ events }: Announcements): Promise<void> {
    for (let count = 1; ; count++) {
      try {
        return await activities.announce({ events });
      } catch (error) {
        if (count === tries)
          return log.warn({ error, events: events.map(({ reason }) => reason) }, 'Events could not be written');
      }
      await sleep(pauseMs * 2 ** (count - 1), undefined, { ref: false });
    }
  }
  const announcing =
    (activity: Activity): Activity =>
    async (request, along) => {
      const events = along as Announcements | undefined;
      if (events === undefined) return activity(request);
      const written = write(events);
      try {
        return await activity(request);
      } finally {
        await Promise.race([written, sleep(waitMs, undefined, { ref: false })]);
      }
    };
  return mapActivities(activities, announcing);
}
