/** The stage of the kill tests: servers of its own, because the other tests need theirs running. Call it in a test file. */

import { afterAll, beforeAll, expect } from '@jest/globals';
import { shortReports } from '../../testbed/trainer.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';
import { openPools } from './pools.ts';
import { createPriority } from './priority.ts';
import type { KillStage } from './processes.ts';
import { type KillPlan, type KillResult, runPlan } from './run-plan.ts';
import { askingWorker } from './slow-paths.ts';
import { takeTurns } from './turns.ts';

/** Each needs two pods, a bad node and a free node: as many as fit into the test cluster. */
const atOnce = 4;
const nodesEach = 3;

/** A lost Lease costs a moment here, because the controller is restarted; the Lease of a dead controller blocks until it expires. */
const shortestLease = { leaderElection: { lease: '4s', renew: '3s', retry: '500ms' } };

/** Returns a function that runs scenarios concurrently: while one waits for an activity to time out, the next begins. */
export function useKillStage(): (plans: readonly KillPlan[]) => readonly Promise<KillResult>[] {
  let cluster: TestCluster;
  let stage: KillStage;

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

  return (plans) => {
    const turn = takeTurns();
    const all = plans.map((plan) => ({ plan, result: Promise.withResolvers<KillResult>() }));
    const left = [...all];
    const worker = async (): Promise<void> => {
      for (let next = left.shift(); next; next = left.shift())
        next.result.resolve(await runPlan(stage, next.plan, turn));
    };
    for (let index = 0; index < atOnce; index++) void worker();
    return all.map(({ result }) => result.promise);
  };
}

/** Nothing that must hold was violated, and the job was stopped, so that there was something to violate. */
export function expectNoViolation(run: KillResult | undefined): void {
  expect(run?.violations).toEqual([]);
  expect(run?.stops).toBeGreaterThan(0);
}

/** Scenarios have their own deadlines, whose errors say what was missing. */
export const scenarioMs = 900_000;
