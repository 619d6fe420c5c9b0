import { describe, expect, it } from '@jest/globals';
import { openOutbox, type Sender } from '../../../controller/outbox/outbox.ts';
import {
  type Call,
  faultMessage,
  jobEndMessage,
  nodeMessage,
  startMessage,
  recoverMessage,
} from '../../../controller/outbox/messages.ts';
import type { Fault } from '../../../contract/faults/faults.ts';
import { jobWorkflowId } from '../../../contract/ids.ts';
import type { JobRef } from '../../../contract/job/jobs.ts';

const job = (name: string): JobRef => ({ kind: 'PyTorchJob', namespace: 'train', name, uid: `uid-${name}` });
const fault = (id: string, message = 'fell off'): Fault => ({
  id,
  source: 'kernel',
  code: 'xid/79',
  message,
  seenAt: '2026-11-21T07:00:00Z',
});
const toJob = (name: string, id: string) => faultMessage({ kind: 'job', job: job(name) }, fault(id));

/** Accepts a call only when the test says so. */
function slowSender() {
  const calls: Call[] = [];
  const open: { readonly take: () => void; readonly fail: (error: Error) => void }[] = [];
  const sender: Sender = {
    send(call) {
      calls.push(call);
      return new Promise((take, fail) => void open.push({ take, fail }));
    },
  };
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  return {
    sender,
    calls,
    takeNext: async () => (open.shift()?.take(), settle()),
    failNext: async () => (open.shift()?.fail(new Error('UNAVAILABLE')), settle()),
    settle,
  };
}

function outbox(sender: Sender, more: { parallel?: number; capacity?: number } = {}) {
  const over = new AbortController();
  return { over, ...openOutbox({ sender, signal: over.signal, backoff: { first: 1, most: 2 }, ...more }) };
}

const said = (call: Call | undefined) =>
  call?.signal?.name === 'faultsObserved'
    ? call.signal.payload.faults.map(({ id }) => id)
    : (call?.signal?.name ?? 'start');

describe('outbox', () => {
  it('keeps one call in flight for a workflow and puts what arrives meanwhile into the next', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    for (const id of ['a', 'b', 'c']) void send(toJob('llm', id));
    expect(slow.calls.map(said)).toEqual([['a']]);
    await slow.takeNext();
    expect(slow.calls.map(said)).toEqual([['a'], ['b', 'c']]);
  });

  it('puts no more into one call than a signal may carry, in bytes, and leaves nothing out', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    const text = '\u20AC'.repeat(500);
    const heavy = Array.from({ length: 90 }, (_, index): Fault => ({
      ...fault(String(index), text),
      evidence: Array.from({ length: 5 }, () => text),
    }));
    const sent = heavy.map((one) => send(faultMessage({ kind: 'job', job: job('llm') }, one)));
    for (let calls = 0; calls < 90 && slow.calls.flatMap(said).length < 90; calls++) await slow.takeNext();
    await slow.takeNext();
    await Promise.all(sent);
    expect(slow.calls.flatMap(said)).toEqual(heavy.map(({ id }) => id));
    for (const { signal } of slow.calls)
      expect(Buffer.byteLength(JSON.stringify(signal?.payload))).toBeLessThan(256 * 1024);
    expect(slow.calls.length).toBeLessThan(10);
  });

  it('does not let one workflow wait for another', () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    void send(toJob('llm', 'a'));
    void send(toJob('other', 'b'));
    expect(slow.calls.map(({ workflowId }) => workflowId)).toEqual([
      'job/train/llm/uid-llm',
      'job/train/other/uid-other',
    ]);
  });

  it('keeps to its limit of calls in flight over all workflows', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender, { parallel: 2 });
    for (const name of ['a', 'b', 'c']) void send(startMessage(job(name)));
    expect(slow.calls).toHaveLength(2);
    await slow.takeNext();
    expect(slow.calls).toHaveLength(3);
  });

  it('resolves each promise when its own message was accepted, not before', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    const taken: string[] = [];
    for (const id of ['a', 'b']) void send(toJob('llm', id)).then(() => taken.push(id));
    await slow.takeNext();
    expect(taken).toEqual(['a']);
    await slow.takeNext();
    expect(taken).toEqual(['a', 'b']);
  });

  it('keeps the order of start, faults, request and end', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    void send(startMessage(job('llm')));
    void send(toJob('llm', 'a'));
    void send(toJob('llm', 'b'));
    void send(recoverMessage(job('llm'), { by: 'label' }));
    void send(jobEndMessage(jobWorkflowId(job('llm')), { change: 'gone' }));
    for (let i = 0; i < 5; i++) await slow.takeNext();
    expect(slow.calls.map(said)).toEqual(['start', ['a', 'b'], 'recover', 'jobObserved']);
  });

  it('sends at most 100 faults in one call', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    void send(startMessage(job('llm')));
    for (let i = 0; i < 150; i++) void send(toJob('llm', `f${i}`));
    for (let i = 0; i < 3; i++) await slow.takeNext();
    expect(slow.calls.slice(1).map((call) => said(call).length)).toEqual([100, 50]);
  });

  it('sends a fault once that is queued again while it waits or is in flight', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    const all = ['a', 'a', 'b', 'b', 'a'].map((id) => send(toJob('llm', id)));
    await slow.takeNext();
    await slow.takeNext();
    await expect(Promise.all(all)).resolves.toHaveLength(5);
    expect(slow.calls.map(said)).toEqual([['a'], ['b']]);
  });

  it('sends only the newest state of a node that changed several times', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    void send(nodeMessage('gpu-1', { uid: 'u1', quarantinedByUs: false }));
    const older = send(nodeMessage('gpu-1', { quarantinedByUs: false }));
    void send(nodeMessage('gpu-1', { uid: 'u2', quarantinedByUs: false }));
    await slow.takeNext();
    await slow.takeNext();
    await older;
    expect(slow.calls.map((call) => call.signal?.payload)).toEqual([
      { uid: 'u1', quarantinedByUs: false },
      { uid: 'u2', quarantinedByUs: false },
    ]);
  });

  it('tries again after a failure, with what has arrived since behind it', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    const first = send(toJob('llm', 'a'));
    void send(toJob('llm', 'b'));
    await slow.failNext();
    await slow.settle();
    expect(slow.calls.map(said)).toEqual([['a'], ['a', 'b']]);
    await slow.takeNext();
    await expect(first).resolves.toBeUndefined();
  });

  it('rejects a message at its deadline and does not try it again', async () => {
    const slow = slowSender();
    const { send, waiting } = outbox(slow.sender);
    await expect(send(toJob('llm', 'a'), 10)).rejects.toMatchObject({ code: 'temporal.unreachable' });
    await slow.failNext();
    await slow.settle();
    expect(slow.calls).toHaveLength(1);
    expect(waiting()).toBe(0);
  });

  it('continues with a message that a caller without a deadline also waits for', async () => {
    const slow = slowSender();
    const { send } = outbox(slow.sender);
    const patient = send(toJob('llm', 'a'));
    await expect(send(toJob('llm', 'a'), 5)).rejects.toThrow();
    await slow.failNext();
    await slow.settle();
    await slow.takeNext();
    await expect(patient).resolves.toBeUndefined();
  });

  it('refuses more messages than one workflow may have waiting', async () => {
    const { send } = outbox(slowSender().sender, { capacity: 2 });
    for (const id of ['under way', 'b', 'c']) void send(toJob('llm', id));
    await expect(send(toJob('llm', 'd'))).rejects.toMatchObject({
      because: '2 messages wait for job/train/llm/uid-llm already',
    });
  });

  it('rejects everything that waits when we no longer lead, and accepts nothing more', async () => {
    const slow = slowSender();
    const { send, over } = outbox(slow.sender);
    const both = [send(toJob('llm', 'a')), send(toJob('llm', 'b'))];
    over.abort();
    for (const message of both) await expect(message).rejects.toMatchObject({ code: 'temporal.unreachable' });
    await expect(send(toJob('llm', 'c'))).rejects.toMatchObject({ code: 'temporal.unreachable' });
    await slow.takeNext();
    expect(slow.calls).toHaveLength(1);
  });

  it('cuts texts that are too long and refuses an id that is', () => {
    const message = faultMessage(
      { kind: 'node', node: 'gpu-1' },
      { ...fault('a', 'm'.repeat(900)), evidence: Array.from({ length: 9 }, () => 'e'.repeat(900)) },
    );
    expect(message).toMatchObject({
      fault: { message: 'm'.repeat(500), evidence: Array.from({ length: 5 }, () => 'e'.repeat(500)) },
    });
    expect(() => faultMessage({ kind: 'node', node: 'gpu-1' }, fault('i'.repeat(201)))).toThrow(RangeError);
  });
});
