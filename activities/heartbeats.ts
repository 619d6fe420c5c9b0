/** Long activities say that they live, and what a later attempt must know. */

import { Context } from '@temporalio/activity';

const everyMs = 2000;

/** Sends `details()` at once and every two seconds while `work` runs. Heartbeats also bring the news of a cancellation. */
export async function withHeartbeats<T>(details: () => unknown, work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  context.heartbeat(details());
  const timer = setInterval(() => context.heartbeat(details()), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
