/** Activities say that they live, so that another worker takes up soon what a dead one did; some also what a later try must know. */

import { Context } from '@temporalio/activity';
import type { Activities } from '../contract/activities.ts';
import { type Activity, mapActivities } from './map-activities.ts';

const everyMs = 2000;

/** Of the activity that runs in the context. */
const details = new WeakMap<Context, () => unknown>();

/** What `tell` returns goes at once, and from now on with every heartbeat of this activity. */
export function reportInHeartbeats(current: () => unknown): void {
  const context = Context.current();
  details.set(context, current);
  context.heartbeat(current());
}

/** What the activity tells in heartbeats has changed, and a later try must know before what comes next. */
export function heartbeatNow(): void {
  const context = Context.current();
  context.heartbeat(details.get(context)?.());
}

const lively =
  (activity: Activity): Activity =>
  async (...args) => {
    const context = Context.current();
    // 0 where the workflow waits for none, and for decisions.
    if (!context.info.heartbeatTimeoutMs) return activity(...args);
    // Most are over before the first. They also bring the news of a cancellation.
    const timer = setInterval(() => context.heartbeat(details.get(context)?.()), everyMs);
    try {
      return await activity(...args);
    } finally {
      clearInterval(timer);
    }
  };

/** The same activities, with a heartbeat every two seconds where the workflow waits for one. */
export const withLife = (activities: Activities): Activities => mapActivities(activities, lively);
