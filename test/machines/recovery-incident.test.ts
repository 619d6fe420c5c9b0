import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults/faults.ts';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { CapacityDecision } from '../../contract/recovery/plan.ts';
import { failingFirst } from '../../workflows/recovery/incident.ts';
import { type In, type RecoveryState, firstState } from '../../workflows/recovery/state.ts';
import {
  type CapacityChange,
  type CapacityData,
  isKnown,
  isShort,
  nextCapacity,
  noCapacityYet,
  waitedLong,
} from '../../workflows/recovery/steps/capacity-data.ts';
import {
  checkpoint,
  type CheckpointChange,
  type CheckpointData,
  checkpointUntil,
} from '../../workflows/recovery/steps/checkpoint.ts';
import type { CommonChange } from '../../workflows/recovery/steps/step.ts';
import { recoveryTransitions } from '../../workflows/recovery/transitions.ts';
import { job, kernelFault, podFault } from '../support/builders.ts';
import { firstStop } from '../support/recovery-events.ts';

const pod = (rank: number): AttemptPod => ({ name: `llm-${rank}`, uid: `uid-${rank}`, node: `gpu-${rank}` });
const createdAt = '2026-11-21T06:00:00Z';
const failureOf = ({ name, uid, node }: AttemptPod, id = uid): Fault =>
  podFault({ id: `pod/${id}`, pod: { name, uid, createdAt }, ...(node && { node }) });
const now = 1_000_000;

describe('what was seen before a stop', () => {
  const short: CapacityDecision = {
    kind: 'hold',
    because: 'capacity for 3 of 4 pods',
    remedy: 'add nodes',
    lookAgainMs: 1,
    settings: 'x',
    at: 1,
  };
  const capacity = (...changes: readonly (CapacityChange | CommonChange)[]): CapacityData =>
    changes.reduce(nextCapacity, noCapacityYet);
  const checkpoints = (...changes: readonly (CheckpointChange | CommonChange)[]): CheckpointData =>
    changes.reduce((data, change) => checkpoint.next(data, change), checkpoint.first);
  const found = (revision: number, at = now) => ({ kind: 'found', revision, at }) as const;
  const lacking = (at = now) => ({ kind: 'decided', decision: short, at }) as const;

  it('trusts found capacity for a minute, and not after a change, even one during the look', () => {
    expect(isKnown(capacity(), 0, now)).toBe(false);
    expect(isKnown(capacity(found(0)), 0, now + 59_000)).toBe(true);
    expect(isKnown(capacity(found(0)), 0, now + 61_000)).toBe(false);
    expect(isKnown(capacity(found(0)), 1, now)).toBe(false);
  });

  it('does not look for capacity again while it cannot be observed, until something changes or it was held', () => {
    const unknown = { kind: 'unknown', revision: 0 } as const;
    expect(isKnown(capacity(unknown), 0, now + 3_600_000)).toBe(true);
    expect(isKnown(capacity(unknown, { kind: 'heldFor', ms: 0 }), 0, now)).toBe(true);
    expect(isKnown(capacity(unknown, { kind: 'heldFor', ms: 1 }), 0, now)).toBe(false);
    expect(isKnown(capacity(unknown), 1, now)).toBe(false);
  });

  it('awaits no checkpoint while it waits for capacity, and says when that was long', () => {
    expect(checkpointUntil(checkpoints(), now + 5000, isShort(capacity(lacking())))).toBe('over');
    expect(waitedLong(capacity(lacking()), now + 30_000)).toBe(false);
    expect(waitedLong(capacity(lacking(), found(0, now + 30_000), lacking(now + 30_000)), now + 91_001)).toBe(true);
    expect(checkpointUntil(checkpoints(), now + 5000, isShort(capacity(lacking(), found(0))))).toBe(now + 5000);
  });

  it('keeps the first deadline of a wait for capacity, not counting the time in which it was held', () => {
    expect(capacity({ kind: 'waiting', until: 5000 }).wait).toEqual({ until: 5000, times: 1 });
    const waits = capacity(
      { kind: 'waiting', until: 5000 },
      { kind: 'heldFor', ms: 1000 },
      { kind: 'waiting', until: 9000 },
    );
    expect(waits.wait).toEqual({ until: 6000, times: 2 });
    expect(capacity({ kind: 'waiting', until: 5000 }, { kind: 'waited', ms: 500 }).wait).toEqual({
      until: 5500,
      times: 1,
    });
  });

  it('counts one checkpoint of an attempt, and the next one only after a long hold', () => {
    const seen = {
      kind: 'seen',
      attempt: 1,
      isStopped: false,
      result: { kind: 'saved', checkpointStep: 100, waitedMs: 1, because: 'saved' },
    } as const;
    expect(checkpointUntil(checkpoints(seen, { kind: 'heldFor', ms: 59_000 }), now + 5000, false)).toBe('over');
    expect(checkpointUntil(checkpoints(seen, { kind: 'heldFor', ms: 61_000 }), now + 5000, false)).toBe(now + 5000);
    expect(checkpointUntil(checkpoints(seen, { kind: 'attemptStopped' }), now + 5000, false)).toBe(now + 5000);
    expect(checkpointUntil(checkpoints({ ...seen, isStopped: true }), now + 5000, false)).toBe(now + 5000);
  });

  it('awaits a checkpoint until a deadline that may move earlier, and never later', () => {
    const awaited = checkpoints({ kind: 'awaited', until: now });
    expect([now - 1, now + 1].map((until) => checkpointUntil(awaited, until, false))).toEqual([now - 1, now]);
    expect(checkpointUntil(checkpoints({ kind: 'awaited', until: now }, { kind: 'trainedOn' }), now + 1, false)).toBe(
      now + 1,
    );
  });

  it('looks for standby nodes again when others took them first, three times', () => {
    const taken = (count: number, wanted: number) => ({ kind: 'standbyNodesTaken', taken: count, wanted }) as const;
    expect(capacity(taken(0, 1), taken(1, 2)).standbyTaken).toBe(false);
    expect(capacity(taken(0, 1), taken(1, 2), taken(0, 1)).standbyTaken).toBe(true);
    expect(capacity(taken(2, 2)).standbyTaken).toBe(true);
  });
});

describe('a stop in preparation', () => {
  const limits = { attempts: 3, holdMs: 1, stopMs: 1, restartMs: 1, placementMs: 1 };
  const first = firstState({ incident: 'recovery/train/llm/job-uid/x', job, faults: [kernelFault()], limits }, now);
  const plan = {
    severity: 'dead',
    level: { name: 'job', because: 'x' },
    checkpoint: { strategy: 'none', because: 'x' },
    ignored: [],
  } as const;
  const preparing = (more: object): In<'preparing'> => {
    const decision = { kind: 'stop', by: 'suspend', because: 'xid/79', settings: 'x', at: now, plan } as const;
    const facts = { pods: [pod(0)], nodes: [], undecided: [], at: now - 3000 };
    return {
      ...first,
      phase: 'preparing',
      step: 'capacity',
      decision,
      facts,
      covers: { revision: 0, faults: [] },
      ...more,
    };
  };
  const next = (state: In<'preparing'>): RecoveryState =>
    recoveryTransitions.preparing.prepared?.next(state, {
      kind: 'prepared',
      result: 'ready',
      turn: state.turn,
      at: now,
    }) ?? state;

  it('is looked at again for its age alone three times in an attempt', () => {
    expect([0, 1, 2, 3].map((agedLooks) => next(preparing({ agedLooks })).phase)).toEqual([
      'deciding',
      'deciding',
      'deciding',
      'stopping',
    ]);
    expect(next(preparing({ facts: { pods: [pod(0)], nodes: [], undecided: [], at: now - 2000 } })).phase).toBe(
      'stopping',
    );
  });

  it('tries the broken pods first again where they were passed over for lack of capacity, and not where they were tried', () => {
    const dropped = (noCapacity: object): RecoveryState['tried'] | undefined => {
      const state = preparing({ tried: [{ level: 'pod', because: 'x', ...noCapacity }] });
      return recoveryTransitions.preparing.passedOverDropped?.next(state, {
        kind: 'passedOverDropped',
        turn: state.turn,
        at: now,
      }).tried;
    };
    expect([dropped({ noCapacity: true }), dropped({})?.length]).toEqual([[], 1]);
  });

  it('remembers a smaller size of the next attempt until another is chosen', () => {
    const chosen = (state: In<'preparing'>, pods?: number) =>
      recoveryTransitions.preparing.nextSizeChosen?.next(state, {
        kind: 'nextSizeChosen',
        turn: state.turn,
        at: now,
        ...(pods !== undefined && { pods }),
      }).nextPods;
    expect([chosen(preparing({}), 3), chosen(preparing({ nextPods: 3 }))]).toEqual([3, undefined]);
  });
});

describe('a stop', () => {
  it('takes the pods with it that were terminating, and those that came late', () => {
    const stop = firstStop();
    const sent =
      stop.phase === 'stopping' && stop.stop ? { ...stop, stop: { ...stop.stop, terminating: [pod(7)] } } : undefined;
    if (!sent) throw new Error('no stop was sent');
    const result = { kind: 'stopped', at: createdAt, requests: 1, late: [pod(8)] } as const;
    const after = recoveryTransitions.stopping.stopAnswered?.next(sent, {
      kind: 'stopAnswered',
      result,
      turn: sent.turn,
      at: now,
    });
    expect(after?.stoppedPods).toEqual([...sent.stop.pods.map(({ uid }) => uid), 'uid-8', 'uid-7']);
    expect(after?.stops).toMatchObject([{ attempt: 1, pods: [...sent.stop.pods, pod(8)] }]);
  });
});

describe('the pods whose evidence is kept', () => {
  const kept = (
    faults: readonly Fault[],
    pods: readonly AttemptPod[],
    terminating: readonly AttemptPod[] = [],
    stoppedPods: readonly string[] = [],
  ) => failingFirst({ faults, stoppedPods }, { pods, terminating });

  it('are those that failed, those on blamed nodes, and the others, in this order', () => {
    expect(kept([kernelFault({ node: 'gpu-1' }), failureOf(pod(2))], [pod(0), pod(1), pod(2)])).toEqual([
      pod(2),
      pod(1),
      pod(0),
    ]);
  });

  it('include a failed one that ended, with its node, and one that somebody deleted', () => {
    expect(kept([failureOf(pod(2))], [pod(0), pod(3)], [pod(1)])).toEqual([pod(2), pod(1), pod(0), pod(3)]);
  });

  it('include each once, however many faults name it, and another pod of the same name beside it', () => {
    const faults = [failureOf(pod(2)), failureOf(pod(2), 'again'), failureOf(pod(1))];
    const namesake = { ...pod(2), uid: 'uid-new', node: 'gpu-7' };
    expect(kept(faults, [pod(1), namesake], [pod(1)])).toEqual([pod(2), pod(1), namesake]);
  });

  it('leave out those that went with an earlier stop, though their faults are remembered and some linger', () => {
    const faults = [failureOf(pod(0)), failureOf(pod(1)), failureOf(pod(4))];
    expect(kept(faults, [pod(5)], [pod(1)], [pod(0).uid, pod(1).uid])).toEqual([pod(4), pod(5)]);
  });
});
