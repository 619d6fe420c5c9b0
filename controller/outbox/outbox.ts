/**
 * Sends messages to workflows: one call in flight for each workflow, in order; messages that arrive meanwhile share the next call.
 * A message without a deadline is retried while this controller leads; one with a deadline is rejected when it passes.
 */

import { KcoverError } from '../../contract/errors.ts';
import {
  type Call,
  callOf,
  countForOneCall,
  type WorkflowMessage,
  messageKey,
  mostWaiting,
  replacesOlder,
} from './messages.ts';

/** Port to Temporal. Throws errors that may be retried; a plain signal to a workflow that does not run is no error. */
export interface Sender {
  send(call: Call): Promise<void>;
}

export interface OutboxOptions {
  readonly sender: Sender;
  /** Rejects everything that waits. */
  readonly signal: AbortSignal;
  readonly onSent?: (call: Call) => void;
  readonly onFailure?: (call: Call, error: KcoverError, failures: number) => void;
  /** Pause between tries for one workflow, ms; doubles. */
  readonly backoff?: { readonly first: number; readonly most: number };
  /** Calls in flight over all workflows. */
  readonly parallel?: number;
  /** Messages that may wait for one workflow; default: `mostWaiting`. */
  readonly capacity?: number;
}

export interface Outbox {
  /** Resolves when Temporal accepted the message. Rejects with a `KcoverError` after `withinMs`, when too many wait, or when the outbox ends. */
  send(message: WorkflowMessage, withinMs?: number): Promise<void>;
  /** Messages that wait or are in flight. */
  waiting(): number;
}

interface SendWaiter {
  readonly accepted: () => void;
  readonly failed: (error: KcoverError) => void;
}

interface QueueEntry {
  message: WorkflowMessage;
  readonly waiters: Set<SendWaiter>;
}

interface WorkflowQueue {
  readonly workflowId: string;
  pending: Map<string, QueueEntry>;
  underWay: Map<string, QueueEntry>;
  failures: number;
  /** `resting`: after a failure, until its back-off is over. */
  state: 'idle' | 'ready' | 'sending' | 'resting';
}

export function openOutbox(options: OutboxOptions): Outbox {
  const { sender, signal } = options;
  const backoff = options.backoff ?? { first: 100, most: 10_000 };
  const parallel = options.parallel ?? 32;
  const queues = new Map<string, WorkflowQueue>();
  const ready: WorkflowQueue[] = [];
  let sending = 0;

  const ended = () => new KcoverError('temporal.unreachable', 'this controller no longer leads');
  signal.addEventListener('abort', () => {
    for (const queue of queues.values())
      for (const entry of [...queue.pending.values(), ...queue.underWay.values()]) fail(entry, ended());
    queues.clear();
  });

  function send(message: WorkflowMessage, withinMs?: number): Promise<void> {
    if (signal.aborted) return Promise.reject(ended());
    const queue = queues.get(message.workflowId) ?? openQueue(message.workflowId);
    const entry = place(queue, message);
    if (!entry)
      return Promise.reject(
        new KcoverError(
          'temporal.unreachable',
          `${queue.pending.size} messages wait for ${message.workflowId} already`,
        ),
      );
    const promise = waitFor(queue, entry, withinMs);
    startSending(queue);
    return promise;
  }

  function openQueue(workflowId: string): WorkflowQueue {
    const queue: WorkflowQueue = { workflowId, pending: new Map(), underWay: new Map(), failures: 0, state: 'idle' };
    queues.set(workflowId, queue);
    return queue;
  }

  /** Joins a message with the same key, or queues it; undefined when the queue is full. */
  function place(queue: WorkflowQueue, message: WorkflowMessage): QueueEntry | undefined {
    const key = messageKey(message);
    const same = queue.pending.get(key);
    if (replacesOlder(message)) {
      queue.pending.delete(key);
      const entry = { message, waiters: same?.waiters ?? new Set<SendWaiter>() };
      queue.pending.set(key, entry);
      return entry;
    }
    const known = same ?? queue.underWay.get(key);
    if (known) return known;
    if (queue.pending.size >= (options.capacity ?? mostWaiting(message))) return undefined;
    const entry = { message, waiters: new Set<SendWaiter>() };
    queue.pending.set(key, entry);
    return entry;
  }

  function waitFor(queue: WorkflowQueue, entry: QueueEntry, withinMs: number | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A caller that does not await the promise must not crash on its rejection.
    promise.catch(() => undefined);
    const timer =
      withinMs === undefined
        ? undefined
        : setTimeout(
            () => waiter.failed(new KcoverError('temporal.unreachable', `not accepted within ${withinMs} ms`)),
            withinMs,
          );
    const leave = () => {
      clearTimeout(timer);
      entry.waiters.delete(waiter);
      const key = messageKey(entry.message);
      if (entry.waiters.size === 0 && queue.pending.get(key) === entry) queue.pending.delete(key);
    };
    const waiter: SendWaiter = {
      accepted: () => (leave(), resolve()),
      failed: (error) => (leave(), reject(error)),
    };
    entry.waiters.add(waiter);
    return promise;
  }

  function startSending(queue: WorkflowQueue): void {
    if (queue.state !== 'idle') return;
    queue.state = 'ready';
    ready.push(queue);
    pump();
  }

  function pump(): void {
    while (sending < parallel && !signal.aborted) {
      const queue = ready.shift();
      if (!queue) return;
      void sendNext(queue);
    }
  }

  async function sendNext(queue: WorkflowQueue): Promise<void> {
    const batch = takeBatch(queue);
    if (!batch) return close(queue);
    queue.state = 'sending';
    sending++;
    try {
      await sender.send(batch.call);
      queue.failures = 0;
      options.onSent?.(batch.call);
      for (const entry of batch.entries) for (const waiter of entry.waiters) waiter.accepted();
      queue.underWay.clear();
      queue.state = 'idle';
    } catch (error) {
      queue.failures++;
      options.onFailure?.(batch.call, asTransient(error), queue.failures);
      putBack(queue);
      rest(queue);
    } finally {
      sending--;
    }
    if (queue.state === 'idle') startSending(queue);
    pump();
  }

  function takeBatch(queue: WorkflowQueue): { call: Call; entries: QueueEntry[] } | undefined {
    const entries = [...queue.pending.values()];
    const taken = entries.slice(0, countForOneCall(entries.map((entry) => entry.message)));
    if (taken.length === 0) return undefined;
    for (const entry of taken) {
      const key = messageKey(entry.message);
      queue.pending.delete(key);
      queue.underWay.set(key, entry);
    }
    return { call: callOf(taken.map((entry) => entry.message)), entries: taken };
  }

  /** Puts entries back to the front, except those without a waiting caller and those that a newer message has replaced. */
  function putBack(queue: WorkflowQueue): void {
    const pending = new Map<string, QueueEntry>();
    for (const [key, entry] of queue.underWay) {
      const newer = queue.pending.get(key);
      if (newer) for (const waiter of entry.waiters) newer.waiters.add(waiter);
      else if (entry.waiters.size > 0) pending.set(key, entry);
    }
    for (const [key, entry] of queue.pending) pending.set(key, entry);
    queue.pending = pending;
    queue.underWay = new Map();
  }

  function rest(queue: WorkflowQueue): void {
    queue.state = 'resting';
    const wait =
      Math.min(backoff.most, backoff.first * 2 ** Math.min(queue.failures - 1, 20)) * (0.5 + Math.random() / 2);
    setTimeout(() => {
      queue.state = 'idle';
      if (!signal.aborted) startSending(queue);
    }, wait).unref();
  }

  function close(queue: WorkflowQueue): void {
    queue.state = 'idle';
    if (queues.get(queue.workflowId) === queue) queues.delete(queue.workflowId);
  }

  const waiting = () => [...queues.values()].reduce((sum, queue) => sum + queue.pending.size + queue.underWay.size, 0);
  return { send, waiting };
}

function fail(entry: QueueEntry, error: KcoverError): void {
  for (const waiter of entry.waiters) waiter.failed(error);
}

const asTransient = (error: unknown): KcoverError =>
  error instanceof KcoverError
    ? error
    : new KcoverError(
        'temporal.unreachable',
        error instanceof Error ? error.message.slice(0, 300) : 'unknown failure',
        { cause: error },
      );
