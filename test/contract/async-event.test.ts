import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { AsyncEvent } from '../../contract/async-event.ts';

const longMs = 60_000;

/** Whether the wait has ended by the next turn of the event loop but one. */
async function hasEnded(wait: Promise<void>): Promise<boolean> {
  let ended = false;
  void wait.then(() => (ended = true));
  await nextTurn();
  await nextTurn();
  return ended;
}

describe('AsyncEvent', () => {
  it('ends a wait when it is set', async () => {
    const event = new AsyncEvent();
    const wait = event.wait(longMs);
    expect(await hasEnded(wait)).toBe(false);
    event.notify();
    expect(await hasEnded(wait)).toBe(true);
  });

  it('ends the next wait, and only that one, when it was set before', async () => {
    const event = new AsyncEvent();
    event.notify();
    event.notify();
    await event.wait(longMs);
    const next = event.wait(longMs);
    expect(await hasEnded(next)).toBe(false);
    event.notify();
    await next;
  });

  it('counts notifications of the same turn of the event loop as one', async () => {
    const event = new AsyncEvent();
    const wait = event.wait(longMs);
    event.notify();
    await Promise.resolve();
    event.notify();
    await wait;
    const next = event.wait(longMs);
    expect(await hasEnded(next)).toBe(false);
    event.notify();
    await next;
  });

  it('ends a wait after its time', async () => {
    await expect(new AsyncEvent().wait(1)).resolves.toBeUndefined();
  });

  it('accepts a time that is too long for a timer', async () => {
    const event = new AsyncEvent();
    const wait = event.wait(Number.MAX_SAFE_INTEGER);
    expect(await hasEnded(wait)).toBe(false);
    event.notify();
    await wait;
  });

  it('rejects when the signal aborts, before or during the wait', async () => {
    const event = new AsyncEvent();
    const ending = new AbortController();
    const wait = event.wait(longMs, ending.signal);
    ending.abort(new Error('the role ends'));
    await expect(wait).rejects.toThrow('the role ends');
    await expect(event.wait(longMs, ending.signal)).rejects.toThrow('the role ends');
  });
});
