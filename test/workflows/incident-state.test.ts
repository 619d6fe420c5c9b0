import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Fault } from '../../contract/faults.ts';
import type { AttemptPod } from '../../contract/jobs.ts';
import type { CapacityDecision } from '../../contract/recovery-plan.ts';
import { IncidentState } from '../../workflows/recovery/incident-state.ts';
import { kernelFault, podFault } from '../support/builders.ts';

const pod = (rank: number): AttemptPod => ({ name: `llm-${rank}`, uid: `uid-${rank}`, node: `gpu-${rank}` });
const createdAt = '2026-11-21T06:00:00Z';
const failureOf = ({ name, uid, node }: AttemptPod, id = uid): Fault => podFault({ id: `pod/${id}`, pod: { name, uid, createdAt }, ...(node && { node }) });
const stopOf = (...pods: readonly AttemptPod[]) => ({ attempt: 1, by: 'suspend', at: createdAt, pods }) as const;

describe('what was seen before a stop', () => {
  afterEach(() => void jest.restoreAllMocks());
  const short: CapacityDecision = { kind: 'hold', because: 'capacity for 3 of 4 pods', remedy: 'add nodes', lookAgainMs: 1, settings: 'x', at: 1 };
  let now = 1_000_000;
  const pass = (ms: number) => {
    now += ms;
    jest.spyOn(Date, 'now').mockReturnValue(now);
  };

  it('trusts found capacity for a minute, and not after a change, even one during the look', () => {
    pass(0);
    const state = new IncidentState([kernelFault()]);
    expect(state.capacity.isKnown(state.revision())).toBe(false);
    state.capacity.isThere(state.revision(), 3);
    pass(59_000);
    expect([state.capacity.isKnown(state.revision()), state.capacity.nextPods]).toEqual([true, 3]);
    pass(2000);
    expect(state.capacity.isKnown(state.revision())).toBe(false);
    const before = state.revision();
    state.newRevision();
    state.capacity.isThere(before);
    expect([state.capacity.isKnown(state.revision()), state.capacity.nextPods]).toEqual([false, undefined]);
  });

  it('does not look for capacity again while it cannot be observed, until something changes or it was held', () => {
    pass(0);
    const state = new IncidentState([kernelFault()]);
    state.capacity.isUnknown(state.revision());
    pass(3_600_000);
    expect(state.capacity.isKnown(state.revision())).toBe(true);
    state.addHeldTime(0);
    expect(state.capacity.isKnown(state.revision())).toBe(true);
    state.addHeldTime(1);
    expect(state.capacity.isKnown(state.revision())).toBe(false);
    state.capacity.isUnknown(state.revision());
    state.newRevision();
    expect(state.capacity.isKnown(state.revision())).toBe(false);
  });

  it('awaits no checkpoint while it waits for capacity, and says when that was long', () => {
    pass(0);
    const state = new IncidentState([kernelFault()]);
    state.capacity.decided(short);
    expect(state.checkpointUntil(now + 5000)).toBe('over');
    pass(30_000);
    expect(state.capacity.isThere(state.revision())).toEqual({ waited: false });
    state.capacity.decided(short);
    pass(61_000);
    expect(state.capacity.isThere(state.revision())).toEqual({ waited: true });
    expect(state.checkpointUntil(now + 5000)).toBe(now + 5000);
  });

  it('keeps the first deadline of a wait for capacity, not counting the time in which it was held', () => {
    const state = new IncidentState([kernelFault()]);
    expect(state.capacity.waits(5000)).toMatchObject({ until: 5000, times: 1 });
    state.addHeldTime(1000);
    expect(state.capacity.waits(9000)).toMatchObject({ until: 6000, times: 2 });
  });

  it('counts one checkpoint of an attempt, and the next one only after a long hold', () => {
    pass(0);
    const state = new IncidentState([kernelFault()]);
    state.checkpointSeen(1, { kind: 'saved', checkpointStep: 100, waitedMs: 1, because: 'saved' });
    state.addHeldTime(59_000);
    expect(state.checkpointUntil(now + 5000)).toBe('over');
    state.addHeldTime(61_000);
    expect(state.checkpointUntil(now + 5000)).toBe(now + 5000);
  });

  it('is looked at again for its age alone three times in an attempt', () => {
    const state = new IncidentState([kernelFault()]);
    expect([1, 2, 3, 4].map(() => state.looksAgainForAge())).toEqual([true, true, true, false]);
  });

  it('tries the broken pods first again where they were passed over for lack of capacity, and not where they were tried', () => {
    const state = new IncidentState([kernelFault()]);
    state.tried.push({ level: 'pod', because: 'no capacity', noCapacity: true });
    expect([state.podsFirstAgain(), state.tried]).toEqual([true, []]);
    state.tried.push({ level: 'pod', because: 'it did not help' });
    expect([state.podsFirstAgain(), state.tried.length]).toEqual([false, 1]);
  });

  it('looks for standby nodes again when others took them first, three times', () => {
    const state = new IncidentState([kernelFault()]);
    state.capacity.tookStandbyNodes(0, 1);
    state.capacity.tookStandbyNodes(1, 2);
    expect(state.capacity.standbyTaken).toBe(false);
    state.capacity.tookStandbyNodes(0, 1);
    expect(state.capacity.standbyTaken).toBe(true);
  });
});

describe('the pods whose evidence is kept', () => {
  it('are those that failed, those on blamed nodes, and the others, in this order', () => {
    const state = new IncidentState([kernelFault({ node: 'gpu-1' }), failureOf(pod(2))]);
    expect(state.failingFirst({ pods: [pod(0), pod(1), pod(2)] })).toEqual([pod(2), pod(1), pod(0)]);
  });

  it('include a failed one that ended, with its node, and one that somebody deleted', () => {
    const state = new IncidentState([failureOf(pod(2))]);
    expect(state.failingFirst({ pods: [pod(0), pod(3)], terminating: [pod(1)] })).toEqual([pod(2), pod(1), pod(0), pod(3)]);
  });

  it('include each once, however many faults name it, and another pod of the same name beside it', () => {
    const state = new IncidentState([failureOf(pod(2)), failureOf(pod(2), 'again'), failureOf(pod(1))]);
    const namesake = { ...pod(2), uid: 'uid-new', node: 'gpu-7' };
    expect(state.failingFirst({ pods: [pod(1), namesake], terminating: [pod(1)] })).toEqual([pod(2), pod(1), namesake]);
  });

  it('leave out those that went with an earlier stop, though their faults are remembered and some linger', () => {
    const state = new IncidentState([failureOf(pod(0)), failureOf(pod(1))]);
    state.stopped(stopOf(pod(0)), [pod(1)]);
    state.take({ faults: [failureOf(pod(4))] });
    expect(state.failingFirst({ pods: [pod(5)], terminating: [pod(1)] })).toEqual([pod(4), pod(5)]);
  });
});
