import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Fault } from '../../contract/faults.ts';
import type { AttemptPod } from '../../contract/jobs.ts';
import { IncidentMemory } from '../../workflows/incident-memory.ts';
import { kernelFault, podFault } from '../support/builders.ts';

const pod = (rank: number): AttemptPod => ({ name: `llm-${rank}`, uid: `uid-${rank}`, node: `gpu-${rank}` });
const createdAt = '2026-11-21T06:00:00Z';
const failureOf = ({ name, uid, node }: AttemptPod, id = uid): Fault => podFault({ id: `pod/${id}`, pod: { name, uid, createdAt }, ...(node && { node }) });
const stopOf = (...pods: readonly AttemptPod[]) => ({ attempt: 1, by: 'suspend', at: createdAt, pods }) as const;

describe('what was seen before a stop', () => {
  afterEach(() => void jest.restoreAllMocks());
  let now = 1_000_000;
  const pass = (ms: number) => {
    now += ms;
    jest.spyOn(Date, 'now').mockReturnValue(now);
  };

  it('says that there is room for a minute, and not after news', () => {
    pass(0);
    const memory = new IncidentMemory([kernelFault()], true);
    expect(memory.hasRoom()).toBe(false);
    memory.foundRoom(3);
    pass(59_000);
    expect([memory.hasRoom(), memory.nextPods]).toEqual([true, 3]);
    memory.ring();
    expect(memory.hasRoom()).toBe(false);
    memory.foundRoom();
    expect([memory.hasRoom(), memory.nextPods]).toEqual([true, undefined]);
    pass(61_000);
    expect(memory.hasRoom()).toBe(false);
  });

  it('tells once that room was waited for, and keeps the first deadline when it is gone again', () => {
    const memory = new IncidentMemory([kernelFault()], true);
    expect(memory.waitsForRoom(5000)).toMatchObject({ until: 5000, times: 1 });
    expect([memory.foundRoom(), memory.foundRoom()]).toEqual([{ waited: true }, { waited: false }]);
    expect(memory.waitsForRoom(9000)).toMatchObject({ until: 5000, times: 2 });
    expect(memory.foundRoom()).toEqual({ waited: true });
  });

  it('counts a checkpoint for a minute: a job that was left alone for longer saves again', () => {
    pass(0);
    const memory = new IncidentMemory([kernelFault()], true);
    expect(memory.checkpointUntil(now + 5000)).toBe(now + 5000);
    memory.checkpointSeen(1, { kind: 'saved', checkpointStep: 100, waitedMs: 1, because: 'saved' });
    pass(59_000);
    expect(memory.checkpointUntil(now + 5000)).toBe('over');
    pass(2000);
    expect(memory.checkpointUntil(now + 5000)).toBe(now + 5000);
  });

  it('lets stand-by nodes that others took first be looked for again, three times', () => {
    const memory = new IncidentMemory([kernelFault()], true);
    memory.tookSpares(0, 1);
    memory.tookSpares(1, 2);
    expect(memory.sparesTaken).toBe(false);
    memory.tookSpares(0, 1);
    expect(memory.sparesTaken).toBe(true);
  });
});

describe('the pods whose evidence is kept', () => {
  it('are those that failed, those on blamed nodes, and the others, in this order', () => {
    const memory = new IncidentMemory([kernelFault({ node: 'gpu-1' }), failureOf(pod(2))], true);
    expect(memory.failingFirst({ pods: [pod(0), pod(1), pod(2)] })).toEqual([pod(2), pod(1), pod(0)]);
  });

  it('hold a failed one that ended, with its node, and one that somebody asked to go', () => {
    const memory = new IncidentMemory([failureOf(pod(2))], true);
    expect(memory.failingFirst({ pods: [pod(0), pod(3)], leaving: [pod(1)] })).toEqual([pod(2), pod(1), pod(0), pod(3)]);
  });

  it('hold each once, however many faults name it, and a namesake of another UID beside it', () => {
    const memory = new IncidentMemory([failureOf(pod(2)), failureOf(pod(2), 'again'), failureOf(pod(1))], true);
    const namesake = { ...pod(2), uid: 'uid-new', node: 'gpu-7' };
    expect(memory.failingFirst({ pods: [pod(1), namesake], leaving: [pod(1)] })).toEqual([pod(2), pod(1), namesake]);
  });

  it('leave out those that went with an earlier stop, though their faults are remembered and some linger', () => {
    const memory = new IncidentMemory([failureOf(pod(0)), failureOf(pod(1))], true);
    memory.stopped(stopOf(pod(0)), [pod(1)]);
    memory.take({ faults: [failureOf(pod(4))] });
    expect(memory.failingFirst({ pods: [pod(5)], leaving: [pod(1)] })).toEqual([pod(4), pod(5)]);
  });
});
