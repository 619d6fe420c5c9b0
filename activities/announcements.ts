/** Kubernetes Events. */

import type { Activities } from '../contract/activities.ts';
import { announceEvent } from '../kube/events.ts';
import type { Dependencies } from './dependencies.ts';

export function announcementActivities({ kube, log, now }: Pick<Dependencies, 'kube' | 'log' | 'now'>): Pick<Activities, 'announce'> {
  return {
    announce: async ({ events }) => {
      for (const event of events) await announceEvent(kube, event, now(), log);
    },
  };
}
