/** Kubernetes Events. */

import type { Activities } from '../contract/activities.ts';
import { announceEvent } from '../kube/events.ts';
import type { Dependencies } from './dependencies.ts';

export function announcementActivities({ kube, log, now }: Pick<Dependencies, 'kube' | 'log' | 'now'>): Pick<Activities, 'announce'> {
  return {
    /** In order. A failed write does not keep the others back; afterwards all are tried again. */
    async announce({ events }) {
      const failed: unknown[] = [];
      for (const event of events) await announceEvent(kube, event, now(), log).catch((error: unknown) => failed.push(error));
      if (failed.length > 0) throw failed[0];
    },
  };
}
