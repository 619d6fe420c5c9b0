import { setTimeout } from 'node:timers/promises';

/** Gives up before most tests do, so that it is said what was waited for. */
export async function until(condition: () => boolean, longestMs = 18_000): Promise<void> {
  const deadline = Date.now() + longestMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited ${longestMs} ms in vain for ${condition.toString()}`);
    await setTimeout(5);
  }
}
