/** Heartbeats, so that another worker soon takes over from a dead one; some also carry what a later try must know. */

import { Context } from '@temporalio/activity';
import type { Activities } from '../contract/wire/activities.ts';
import { type Activity, mapActivities } from './map-activities.ts';

const everyMs = 2000;

/** Heartbeat details of the activity that runs in the context. */
const details = new WeakMap<Context, () => unknown>();

/** The result of `current` is sent at once, and from now on with every heartbeat of this activity. */
export function reportInHeartbeats(current: () => unknown): void {
  const context = Context.current();
  details.set(context, current);
  context.heartbeat(current());
}

/** Sends a heartbeat now: its details have changed, and a later try must know before the next step. */
export function heartbeatNow(): void {
  const context = Context.current();
  context.heartbeat(details.get(context)?.());
}

const lively =
  (activity: Activity): Activity =>
  async (...args) => {
    const context = Context.current();
    // 0 where the workflow expects none, and for decisions.
    if (!context.info.heartbeatTimeoutMs) return activity(...args);
    // Most activities end before the first heartbeat. Heartbeats also deliver cancellations.
    const timer = setInterval(() => context.heartbeat(details.get(context)?.()), everyMs);
    try {
      return await activity(...args);
    } finally {
      clearInterval(timer);
    }
  };

/** The same activities, with a heartbeat every two seconds where the workflow expects one. */
export const withLife = (activities: Activities): Activities => mapActivities(activities, lively);
