import { describe, expect, it } from '@jest/globals';
import type { RecoveryPlan } from '../../contract/recovery/plan.ts';
import { changedSteps, firstSteps, nextStep, recordOfSteps, steps } from '../../workflows/recovery/steps/index.ts';
import type { CommonChange, Preparable } from '../../workflows/recovery/steps/step.ts';

const because = 'a test';
const decided = { because, settings: 'x', at: 1 };
const plan: RecoveryPlan = {
  severity: 'dead',
  level: { name: 'job', because },
  approval: { because, withinMs: 60_000, otherwise: 'deny' },
  checkpoint: {
    strategy: 'fresh',
    beyond: 100,
    withinMs: 60_000,
    stallMs: 1,
    because,
    timing: { now: 1, afterCheckpoint: 1, nextInMs: 1 },
  },
  capacity: { choice: 'hold', least: 1 },
  ignored: [],
};
const stop: Preparable = { kind: 'stop', by: 'suspend', plan, ...decided };

/** Those before a decision, in order. */
function before(decision: Preparable): string[] {
  const names: string[] = [];
  for (let name = nextStep(decision); name !== undefined; name = nextStep(decision, name)) names.push(name);
  return names;
}

describe('the steps of a recovery', () => {
  it.each([
    ['a stop', stop, ['approve', 'evidence', 'checkpoint', 'capacity']],
    ['a stop without a plan', { kind: 'stop', by: 'suspend', ...decided }, ['evidence']],
    [
      'a request to the processes',
      { kind: 'hold', remedy: 'wait', inProcess: { beyond: 1, withinMs: 1 }, ...decided },
      ['in-process'],
    ],
    ['a hold', { kind: 'hold', remedy: 'wait', ...decided }, []],
  ] as const)('before %s are those that belong to it, in order', (_what, decision, names) => {
    expect(before(decision)).toEqual(names);
  });

  it.each(steps.map((step) => [step.name, step] as const))(
    '%s is done before a stop or after it, and has a name of its own',
    (name, step) => {
      expect(step.before !== undefined || step.between !== undefined).toBe(true);
      expect(steps.filter((one) => one.name === name)).toEqual([step]);
      expect(step.before !== undefined || !step.appliesTo(stop)).toBe(true);
    },
  );

  it.each<[string, CommonChange]>([
    ['the attempt is stopped', { kind: 'attemptStopped' }],
    ['another step waits', { kind: 'waited', ms: 10 }],
    ['the recovery is held', { kind: 'heldFor', ms: 100_000 }],
    ['the job has trained for long', { kind: 'trainedOn' }],
  ])(
    'remember what survives a restart of the worker when %s, and record nothing that did not happen',
    (_what, change) => {
      const data = changedSteps(firstSteps, change);
      expect(JSON.parse(JSON.stringify(data))).toEqual(JSON.parse(JSON.stringify(firstSteps)));
      expect(recordOfSteps(data)).toEqual({});
    },
  );

  it('say what they would do where nothing may be done', () => {
    expect(steps.flatMap(({ wouldDo }) => wouldDo?.(plan)?.what ?? [])).toEqual([
      'would ask',
      'would await a checkpoint (fresh)',
      'would look for capacity',
    ]);
  });
});
