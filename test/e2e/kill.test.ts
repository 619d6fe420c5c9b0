import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shortReports } from '../../testbed/trainer.ts';
import { startWorld, type World } from '../../testbed/world.ts';
import { askingWorker, carefulSteps } from '../kill/courses.ts';
import { planCarefulSmoke, planSmoke } from '../kill/plans.ts';
import { openPools } from '../kill/pools.ts';
import { createPriority } from '../kill/priority.ts';
import { quickToReturn, type Stage } from '../kill/processes.ts';
import { type Step, steps } from '../kill/steps.ts';
import { type Plan, tellStory, type Told } from '../kill/story.ts';
import { takeTurns } from '../kill/turns.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

/** What stories wait for they give up themselves, and say what it was. */
const storyMs = 900_000;

/** Two pods and a bad node for each, with one node to go to: as many as the world has room for. */
const atOnce = 4;
const nodesEach = 3;

/** One that is lost costs a moment here, because the controller is started again; one that was left by a dead controller, as long as it lasts. */
const shortestLease = { leaderElection: { lease: '4s', renew: '3s', retry: '500ms' } };

let world: World;
let stage: Stage;

// Servers of its own, because the others need theirs alive.
beforeAll(async () => {
  world = await startWorld({ nodes: atOnce * nodesEach, patientWithNodes: true });
  const { api, nodes, servers } = world;
  await createPriority(api);
  const pools = await openPools(
    api,
    Array.from({ length: atOnce }, (_, index) => nodes.slice(index * nodesEach, (index + 1) * nodesEach)),
  );
  const { workflowBundle } = testServers();
  const controllerSettings = { ...shortestLease, ...shortReports.controllerSettings };
  const live = await LiveKcover.start(world, { ...shortReports, agents: 'processes', workflowBundle, controllerSettings, workerSettings: askingWorker });
  stage = { live, servers, startedAlong: [servers.trainingOperator, servers.kwok], pools, absences: [] };
}, 300_000);
afterAll(async () => {
  await stage?.live.close();
  await world?.stop();
});

/** Told together: where one waits for an activity to time out, the next begins. */
function tellAll(plans: readonly Plan[]): readonly Promise<Told>[] {
  const turn = takeTurns();
  const all = plans.map((plan) => ({ plan, told: Promise.withResolvers<Told>() }));
  const left = [...all];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) next.told.resolve(await tellStory(stage, next.plan, turn));
  };
  for (let index = 0; index < atOnce; index++) void lane();
  return all.map(({ told }) => told.promise);
}

function judged(story: Told | undefined): void {
  expect(story?.violations).toEqual([]);
  expect(story?.stops).toBeGreaterThan(0);
}

describe('when a process is killed at or after a step of a recovery', () => {
  const plans = planSmoke();
  let told: readonly Promise<Told>[];
  beforeAll(() => {
    told = tellAll(plans);
  });

  it.each(plans.flatMap(({ kills }) => kills))(
    'the $victim at or after "$step", the job runs again and nothing is done twice',
    async ({ victim, step }) => {
      const story = await told[steps.indexOf(step as Step)];
      judged(story);
      expect(story?.deaths).toEqual([expect.objectContaining({ victim, step })]);
    },
    storyMs,
  );
});

describe('when processes are killed at or after the steps of a careful recovery', () => {
  const plans = planCarefulSmoke(quickToReturn);
  const deaths = plans.flatMap(({ kills }) => kills);
  let told: readonly Promise<Told>[];
  beforeAll(() => {
    told = tellAll(plans);
  });

  it('every careful step has a death', () => {
    expect(deaths.map(({ step }) => step).toSorted()).toEqual([...carefulSteps].toSorted());
  });

  it.each(deaths)(
    'the $victim at or after "$step", what was waited for is done, and once, and training is verified',
    async ({ victim, step }) => {
      const story = await told[plans.findIndex(({ kills }) => kills.some((kill) => kill.victim === victim && kill.step === step))];
      judged(story);
      expect(story?.deaths).toContainEqual(expect.objectContaining({ victim, step }));
    },
    storyMs,
  );
});
