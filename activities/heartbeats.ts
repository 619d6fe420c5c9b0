/** Activities say that they live, so that another worker takes up soon what a dead one did; long ones also what a later try must know. */

import { Context } from '@temporalio/activity';
import type { Activities } from '../contract/activities.ts';

const everyMs = 2000;

/** Of the activity that runs in the context. */
const details = new WeakMap<Context, () => unknown>();

/** Sends what `tell` returns at once, and with every heartbeat while `work` runs. Heartbeats also bring the news of a cancellation. */
export async function withHeartbeats<T>(tell: () => unknown, work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  details.set(context, tell);
  context.heartbeat(tell());
  return work();
}

type Activity = (...args: never[]) => Promise<unknown>;

function lively<A extends Activity>(activity: A): A {
  const call = async (...args: Parameters<A>): Promise<unknown> => {
    const context = Context.current();
    if (context.info.isLocal || context.info.heartbeatTimeoutMs === undefined) return activity(...args);
    // Most are over before the first.
    const timer = setInterval(() => context.heartbeat(details.get(context)?.()), everyMs);
    try {
      return await activity(...args);
    } finally {
      clearInterval(timer);
    }
  };
  return call as A;
}

/** The same activities, with a heartbeat every two seconds where the workflow waits for one. */
export const withLife = (activities: Activities): Activities =>
  Object.fromEntries(Object.entries(activities).map(([name, activity]) => [name, lively(activity as Activity)])) as unknown as Activities;
