import { beforeAll, describe, expect, it } from '@jest/globals';
import { type FastPathStep, steps } from '../kill/fast-path-steps.ts';
import { planSlowPathSmoke, planSmoke } from '../kill/plans.ts';
import { quickToReturn } from '../kill/processes.ts';
import type { KillResult } from '../kill/run-plan.ts';
import { slowPathSteps } from '../kill/slow-paths.ts';
import { expectNoViolation, scenarioMs, useKillStage } from '../kill/stage.ts';

const runAll = useKillStage();

describe('when a process is killed at or after a step of a recovery', () => {
  const plans = planSmoke();
  let results: readonly Promise<KillResult>[];
  beforeAll(() => {
    results = runAll(plans);
  });

  it.each(plans.flatMap(({ kills }) => kills))(
    'the $target at or after "$step", the job runs again and nothing is done twice',
    async ({ target, step }) => {
      const run = await results[steps.indexOf(step as FastPathStep)];
      expectNoViolation(run);
      expect(run?.deaths).toEqual([expect.objectContaining({ target, step })]);
    },
    scenarioMs,
  );
});

describe('when processes are killed at or after the steps of the slow path', () => {
  const plans = planSlowPathSmoke(quickToReturn);
  const deaths = plans.flatMap(({ kills }) => kills);
  let results: readonly Promise<KillResult>[];
  beforeAll(() => {
    results = runAll(plans);
  });

  it('every step of the slow path has a kill', () => {
    expect(deaths.map(({ step }) => step).toSorted()).toEqual([...slowPathSteps].toSorted());
  });

  it.each(deaths)(
    'the $target at or after "$step", the awaited step is done once, and training is verified',
    async ({ target, step }) => {
      const run =
        await results[
          plans.findIndex(({ kills }) => kills.some((kill) => kill.target === target && kill.step === step))
        ];
      expectNoViolation(run);
      expect(run?.deaths).toContainEqual(expect.objectContaining({ target, step }));
    },
    scenarioMs,
  );
});
