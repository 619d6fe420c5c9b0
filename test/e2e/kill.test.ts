import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shortReports } from '../../testbed/trainer.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { askingWorker, slowPathSteps } from '../kill/slow-paths.ts';
import { planSlowPathSmoke, planSmoke } from '../kill/plans.ts';
import { openPools } from '../kill/pools.ts';
import { createPriority } from '../kill/priority.ts';
import { quickToReturn, type KillStage } from '../kill/processes.ts';
import { type FastPathStep, steps } from '../kill/fast-path-steps.ts';
import { type KillPlan, runPlan, type KillResult } from '../kill/run-plan.ts';
import { takeTurns } from '../kill/turns.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

/** Scenarios have their own deadlines, whose errors say what was missing. */
const runMs = 900_000;

/** Each needs two pods, a bad node and a free node: as many as fit into the test cluster. */
const atOnce = 4;
const nodesEach = 3;

/** A lost Lease costs a moment here, because the controller is restarted; the Lease of a dead controller blocks until it expires. */
const shortestLease = { leaderElection: { lease: '4s', renew: '3s', retry: '500ms' } };

let cluster: TestCluster;
let stage: KillStage;

// Servers of its own, because the other tests need theirs running.
beforeAll(async () => {
  cluster = await startTestCluster({ nodes: atOnce * nodesEach, patientWithNodes: true });
  const { api, nodes, servers } = cluster;
  await createPriority(api);
  const pools = await openPools(
    api,
    Array.from({ length: atOnce }, (_, index) => nodes.slice(index * nodesEach, (index + 1) * nodesEach)),
  );
  const { workflowBundle } = testServers();
  const controllerSettings = { ...shortestLease, ...shortReports.controllerSettings };
  const live = await LiveKcover.start(cluster, {
    ...shortReports,
    agents: 'processes',
    workflowBundle,
    controllerSettings,
    workerSettings: askingWorker,
  });
  stage = { live, servers, startedAlong: [servers.trainingOperator, servers.kwok], pools, absences: [] };
}, 300_000);
afterAll(async () => {
  await stage?.live.close();
  await cluster?.stop();
});

/** Runs them concurrently: while one waits for an activity to time out, the next begins. */
function runAll(plans: readonly KillPlan[]): readonly Promise<KillResult>[] {
  const turn = takeTurns();
  const all = plans.map((plan) => ({ plan, result: Promise.withResolvers<KillResult>() }));
  const left = [...all];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) next.result.resolve(await runPlan(stage, next.plan, turn));
  };
  for (let index = 0; index < atOnce; index++) void worker();
  return all.map(({ result }) => result.promise);
}

function judged(run: KillResult | undefined): void {
  expect(run?.violations).toEqual([]);
  expect(run?.stops).toBeGreaterThan(0);
}

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
      judged(run);
      expect(run?.deaths).toEqual([expect.objectContaining({ target, step })]);
    },
    runMs,
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
      judged(run);
      expect(run?.deaths).toContainEqual(expect.objectContaining({ target, step }));
    },
    runMs,
  );
});
