import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startWorld, type World } from '../../testbed/world.ts';
import { everyRun, type Stage } from '../kill/processes.ts';
import { steps } from '../kill/steps.ts';
import { planMatrix } from '../kill/plans.ts';
import { takeTurns, tellStory, type Told } from '../kill/story.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

/** Two pods and a bad node for each, with one node to go to: as many as the world has room for. */
const atOnce = 4;

/** One that is lost costs a moment here, because the controller is started again; one that was left by a dead controller, as long as it lasts. */
const shortestLease = { leaderElection: { lease: '4s', renew: '3s', retry: '500ms' } };

let world: World;
let stage: Stage;

// Servers of its own, because the others need theirs alive.
beforeAll(async () => {
  world = await startWorld({ nodes: 12, patientWithNodes: true });
  const options = { workflowBundle: testServers().workflowBundle, controllerSettings: shortestLease };
  const { servers } = world;
  stage = { live: await LiveKcover.start(world, options), servers, startedAlong: [servers.trainingOperator, servers.kwok] };
}, 300_000);
afterAll(async () => {
  await stage?.live.close();
  await world?.stop();
}, 120_000);

describe.each(everyRun)('when the %s is killed', (victim) => {
  const plans = planMatrix([victim]);
  const told = new Map(steps.map((step) => [step, Promise.withResolvers<Told>()]));

  // All stories of one process are told together: where one waits for an activity to time out, the next begins.
  beforeAll(() => {
    const turn = takeTurns();
    const left = plans.map((plan, index) => ({ plan, tell: told.get(steps[index] ?? steps[0]) }));
    const lane = async (): Promise<void> => {
      for (let next = left.shift(); next; next = left.shift()) next.tell?.resolve(await tellStory(stage, next.plan, turn));
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
    300_000,
  );
});
