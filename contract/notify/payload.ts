import type { Announcement } from '../wire/activities.ts';
import type { Notification } from './notification.ts';

/** Signal `notify`. `object`: for an Event about its failure. */
export interface NotifyPayload {
  readonly notification: Notification;
  readonly object: Announcement['about'];
}
