import { beforeAll, describe, expect, it } from '@jest/globals';
import { type FastPathStep, steps } from '../kill/fast-path-steps.ts';
import { planSmoke } from '../kill/plans.ts';
import type { KillResult } from '../kill/run-plan.ts';
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
