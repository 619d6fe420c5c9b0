/**
 * Brings letters to workflows: one call in flight for each workflow, in order, and what arrives meanwhile travels together in the next.
 * A letter without a deadline is tried for as long as we lead; one with a deadline is given back to its sender.
 */

import { KcoverError } from '../contract/errors.ts';
import { type Call, callOf, howManyTogether, type Letter, letterKey, mostWaiting, replacesOlder } from './letters.ts';

/** Port to Temporal. Throws what may be tried again; a plain signal to a workflow that does not run is no error. */
export interface Sender {
  send(call: Call): Promise<void>;
}

export interface DeliveryOptions {
  readonly sender: Sender;
  /** Ends everything that waits. */
  readonly signal: AbortSignal;
  readonly onSent?: (call: Call) => void;
  readonly onFailure?: (call: Call, error: KcoverError, failures: number) => void;
  /** Between two tries of one workflow, ms; doubles. */
  readonly backoff?: { readonly first: number; readonly most: number };
  /** Calls in flight over all workflows. */
  readonly parallel?: number;
  /** Letters that may wait for one workflow; else as `mostWaiting` says. */
  readonly capacity?: number;
}

export interface Delivery {
  /** Resolves when Temporal took the letter. Rejects with a `KcoverError` after `withinMs`, when too many wait, or when delivery ends. */
  send(letter: Letter, withinMs?: number): Promise<void>;
  /** Letters that wait or are under way. */
  waiting(): number;
}

interface Waiter {
  readonly took: () => void;
  readonly failed: (error: KcoverError) => void;
}

interface Entry {
  letter: Letter;
  readonly waiters: Set<Waiter>;
}

interface Mailbox {
  readonly workflowId: string;
  queue: Map<string, Entry>;
  underWay: Map<string, Entry>;
  failures: number;
  /** `resting`: after a failure, until its back-off is over. */
  state: 'idle' | 'ready' | 'sending' | 'resting';
}

export function openDelivery(options: DeliveryOptions): Delivery {
  const { sender, signal } = options;
  const backoff = options.backoff ?? { first: 100, most: 10_000 };
  const parallel = options.parallel ?? 32;
  const mailboxes = new Map<string, Mailbox>();
  const ready: Mailbox[] = [];
  let sending = 0;

  const ended = () => new KcoverError('temporal.unreachable', 'this controller no longer delivers');
  signal.addEventListener('abort', () => {
    for (const mailbox of mailboxes.values()) for (const entry of [...mailbox.queue.values(), ...mailbox.underWay.values()]) fail(entry, ended());
    mailboxes.clear();
  });

  function send(letter: Letter, withinMs?: number): Promise<void> {
    if (signal.aborted) return Promise.reject(ended());
    const mailbox = mailboxes.get(letter.workflowId) ?? openMailbox(letter.workflowId);
    const entry = place(mailbox, letter);
    if (!entry) return Promise.reject(new KcoverError('temporal.unreachable', `${mailbox.queue.size} letters wait for ${letter.workflowId} already`));
    const promise = waitFor(mailbox, entry, withinMs);
    wake(mailbox);
    return promise;
  }

  function openMailbox(workflowId: string): Mailbox {
    const mailbox: Mailbox = { workflowId, queue: new Map(), underWay: new Map(), failures: 0, state: 'idle' };
    mailboxes.set(workflowId, mailbox);
    return mailbox;
  }

  /** Joins what says the same, or queues; undefined when the mailbox is full. */
  function place(mailbox: Mailbox, letter: Letter): Entry | undefined {
    const key = letterKey(letter);
    const same = mailbox.queue.get(key);
    if (replacesOlder(letter)) {
      mailbox.queue.delete(key);
      const entry = { letter, waiters: same?.waiters ?? new Set<Waiter>() };
      mailbox.queue.set(key, entry);
      return entry;
    }
    const known = same ?? mailbox.underWay.get(key);
    if (known) return known;
    if (mailbox.queue.size >= (options.capacity ?? mostWaiting(letter))) return undefined;
    const entry = { letter, waiters: new Set<Waiter>() };
    mailbox.queue.set(key, entry);
    return entry;
  }

  function waitFor(mailbox: Mailbox, entry: Entry, withinMs: number | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Who does not wait for the answer must not be ended by it.
    promise.catch(() => undefined);
    const timer =
      withinMs === undefined
        ? undefined
        : setTimeout(() => waiter.failed(new KcoverError('temporal.unreachable', `not taken within ${withinMs} ms`)), withinMs);
    const leave = () => {
      clearTimeout(timer);
      entry.waiters.delete(waiter);
      const key = letterKey(entry.letter);
      if (entry.waiters.size === 0 && mailbox.queue.get(key) === entry) mailbox.queue.delete(key);
    };
    const waiter: Waiter = {
      took: () => (leave(), resolve()),
      failed: (error) => (leave(), reject(error)),
    };
    entry.waiters.add(waiter);
    return promise;
  }

  function wake(mailbox: Mailbox): void {
    if (mailbox.state !== 'idle') return;
    mailbox.state = 'ready';
    ready.push(mailbox);
    pump();
  }

  function pump(): void {
    while (sending < parallel && !signal.aborted) {
      const mailbox = ready.shift();
      if (!mailbox) return;
      void sendNext(mailbox);
    }
  }

  async function sendNext(mailbox: Mailbox): Promise<void> {
    const batch = takeBatch(mailbox);
    if (!batch) return close(mailbox);
    mailbox.state = 'sending';
    sending++;
    try {
      await sender.send(batch.call);
      mailbox.failures = 0;
      options.onSent?.(batch.call);
      for (const entry of batch.entries) for (const waiter of entry.waiters) waiter.took();
      mailbox.underWay.clear();
      mailbox.state = 'idle';
    } catch (error) {
      mailbox.failures++;
      options.onFailure?.(batch.call, asTransient(error), mailbox.failures);
      putBack(mailbox);
      rest(mailbox);
    } finally {
      sending--;
    }
    if (mailbox.state === 'idle') wake(mailbox);
    pump();
  }

  function takeBatch(mailbox: Mailbox): { call: Call; entries: Entry[] } | undefined {
    const entries = [...mailbox.queue.values()];
    const together = entries.slice(0, howManyTogether(entries.map((entry) => entry.letter)));
    if (together.length === 0) return undefined;
    for (const entry of together) {
      const key = letterKey(entry.letter);
      mailbox.queue.delete(key);
      mailbox.underWay.set(key, entry);
    }
    return { call: callOf(together.map((entry) => entry.letter)), entries: together };
  }

  /** To the front again, but for what nobody waits for any more and what a newer letter has replaced. */
  function putBack(mailbox: Mailbox): void {
    const queue = new Map<string, Entry>();
    for (const [key, entry] of mailbox.underWay) {
      const newer = mailbox.queue.get(key);
      if (newer) for (const waiter of entry.waiters) newer.waiters.add(waiter);
      else if (entry.waiters.size > 0) queue.set(key, entry);
    }
    for (const [key, entry] of mailbox.queue) queue.set(key, entry);
    mailbox.queue = queue;
    mailbox.underWay = new Map();
  }

  function rest(mailbox: Mailbox): void {
    mailbox.state = 'resting';
    const wait = Math.min(backoff.most, backoff.first * 2 ** Math.min(mailbox.failures - 1, 20)) * (0.5 + Math.random() / 2);
    setTimeout(() => {
      mailbox.state = 'idle';
      if (!signal.aborted) wake(mailbox);
    }, wait).unref();
  }

  function close(mailbox: Mailbox): void {
    mailbox.state = 'idle';
    if (mailboxes.get(mailbox.workflowId) === mailbox) mailboxes.delete(mailbox.workflowId);
  }

  const waiting = () => [...mailboxes.values()].reduce((sum, mailbox) => sum + mailbox.queue.size + mailbox.underWay.size, 0);
  return { send, waiting };
}

function fail(entry: Entry, error: KcoverError): void {
  for (const waiter of entry.waiters) waiter.failed(error);
}

const asTransient = (error: unknown): KcoverError =>
  error instanceof KcoverError
    ? error
    : new KcoverError('temporal.unreachable', error instanceof Error ? error.message.slice(0, 300) : 'unknown failure', { cause: error });
