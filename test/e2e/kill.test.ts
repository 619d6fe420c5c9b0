import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { attachWorld } from '../../testbed/attach.ts';
import { orders, type Plan, steps, takeTurns, tellStory, type Told, victims } from '../kill/story.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

/** Two pods and a bad node for each, with one node to go to: as many as the world has room for. */
const atOnce = 4;

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachWorld(process.env['KCOVER_TEST_WORLD'] ?? ''), { workflowBundle });
}, 120_000);
afterAll(() => live?.close(), 60_000);

describe.each(victims)('when the %s is killed', (victim) => {
  const plans = steps.map((step, index): Plan => ({ victim, step, order: orders[index % 2] ?? orders[0], pauseMs: (index * 370) % 1000 }));
  const told = new Map(plans.map((plan) => [plan.step, Promise.withResolvers<Told>()]));

  // All stories of one process are told together: where one waits for an activity to time out, the next begins.
  beforeAll(() => {
    const turn = takeTurns();
    const left = [...plans];
    const lane = async (): Promise<void> => {
      for (let plan = left.shift(); plan; plan = left.shift()) told.get(plan.step)?.resolve(await tellStory(live, plan, turn));
    };
    for (let index = 0; index < atOnce; index++) void lane();
  });

  it.each(steps)(
    'at the step "%s", the job runs again and nothing is done twice',
    async (step) => {
      const story = await told.get(step)?.promise;
      expect(story?.violations).toEqual([]);
      expect(story?.stops).toBeGreaterThan(0);
    },
    240_000,
  );
});
