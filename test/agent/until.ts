import { setTimeout } from 'node:timers/promises';

/** Fails before the timeout of most tests, so that the error names the condition. */
export async function until(condition: () => boolean, longestMs = 18_000): Promise<void> {
  const deadline = Date.now() + longestMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited ${longestMs} ms in vain for ${condition.toString()}`);
    await setTimeout(5);
  }
}
