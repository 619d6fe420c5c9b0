/** One scenario: a GPU breaks, and processes are killed at steps of the recovery. */

import type { ApiFaultProfile } from '../../testbed/api-proxy.ts';
import { until } from '../../testbed/until.ts';
import type { PodLife } from '../support/cluster-recorder.ts';
import { type RunFacts, violations } from '../support/invariants.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { runSlowPath } from './slow-path.ts';
import { type SlowPathStep, type SlowPath, isSlowPath } from './slow-paths.ts';
import { evidence } from './evidence.ts';
import { type KillStage, surely, type TargetProcess } from './processes.ts';
import { quarantinesOf } from './quarantines.ts';
import type { FastPathStep } from './fast-path-steps.ts';
import { runFastPath, type Order } from './fast-path.ts';
import type { Turn } from './turns.ts';

export interface Kill {
  readonly target: TargetProcess;
  readonly step: FastPathStep | SlowPathStep;
  /** How long the process stays dead, ms. */
  readonly pauseMs: number;
}

/** A process that was killed when its step was seen. */
export interface Death extends Omit<Kill, 'pauseMs'> {
  /** `after`: a later step had been seen too when the process had ended. */
  readonly seen: 'at' | 'after';
}

export interface KillPlan {
  /** Kills at steps of the scenario; those of one step are of different processes. */
  readonly kills: readonly Kill[];
  readonly scenario: Order | SlowPath;
  /** The API faults for kcover from the beginning of this scenario until the next one begins. */
  readonly faultProfile?: ApiFaultProfile;
}

export interface KillResult {
  readonly plan: KillPlan;
  readonly job: string;
  /** Number of incidents, and of stops in them. */
  readonly incidents: number;
  readonly stops: number;
  readonly tookMs: number;
  /** One for each kill of the plan, unless the scenario failed before. */
  readonly deaths: readonly Death[];
  /** Sentences; empty when all is well. */
  readonly violations: readonly string[];
}

/** Expected result of a scenario. */
export interface Acted {
  /** With its final pods. */
  readonly job: LiveJob;
  readonly node: string;
  /** Expected number of incidents. */
  readonly incidents: number;
  readonly quarantines: number;
  /** Violations of the expected end, once it has ended; in addition to the general invariants. */
  readonly wrongEnd: () => readonly string[];
  readonly over?: () => void;
}

export interface KillContext {
  readonly stage: KillStage;
  readonly plan: KillPlan;
  /** Shared by scenarios that break nodes of each other. */
  readonly turn: Turn;
  /** Call it as soon as there is something to clean up. */
  readonly onCreated: (job: LiveJob) => void;
  /** Call it when a process has been killed. */
  readonly died: (death: Death) => void;
}

const settledWithinMs = 240_000;

/** Runs the scenario with a new job, checks it, and cleans up. Never rejects. */
export function runPlan(stage: KillStage, plan: KillPlan, turn: Turn): Promise<KillResult> {
  const { scenario } = plan;
  if (!isSlowPath(scenario))
    return run(stage, plan, (callbacks) => runFastPath({ stage, plan, turn, ...callbacks }, scenario));
  return stage.pools.withPool((selector) =>
    run(stage, plan, (callbacks) => runSlowPath({ stage, plan, turn, ...callbacks }, scenario, selector)),
  );
}

async function run(
  { live }: KillStage,
  plan: KillPlan,
  act: (callbacks: Pick<KillContext, 'onCreated' | 'died'>) => Promise<Acted>,
): Promise<KillResult> {
  const began = Date.now();
  let job: LiveJob | undefined;
  let over: Acted['over'];
  const deaths: Death[] = [];
  const resultWith = (sentences: readonly string[]): KillResult => {
    const records = job ? live.records(job) : [];
    const stops = records.reduce((sum, record) => sum + record.stops.length, 0);
    return {
      plan,
      job: job?.name ?? 'none',
      incidents: records.length,
      stops,
      tookMs: Date.now() - began,
      deaths,
      violations: sentences,
    };
  };
  const judge = async (): Promise<string[]> => {
    const acted = await act({ onCreated: (one) => void (job = one), died: (death) => void deaths.push(death) });
    over = acted.over;
    return await judgeEnd(live, acted);
  };
  const end = resultWith(await judge().catch((error: unknown) => [said(error)]));
  over?.();
  if (job === undefined) return end;
  const left = await putBack(live, job).then(
    () => [],
    (error: unknown) => [`after the last step: ${said(error)}`],
  );
  return { ...end, violations: [...end.violations, ...left] };
}

async function judgeEnd(live: LiveKcover, { job, node, incidents, quarantines, wrongEnd }: Acted): Promise<string[]> {
  // Counted, because another scenario whose job used the node before may have released it already.
  await live.recorder.seen(`quarantine of ${node}`, settledWithinMs, () => quarantinesOf(live, node) >= quarantines);
  await live.settled(job, { incidents, withinMs: settledWithinMs });
  // Each kind of object has a watch of its own, and after an interruption that of the jobs may come last.
  await live.recorder.seen(`${job.name} not suspended`, settledWithinMs, () => !live.recorder.isSuspended(job));
  const facts = await factsAtRest(live, job, incidents);
  const wrong = [...violations(facts), ...wrongEnd()];
  return wrong.length > 0 ? [...wrong, `evidence:\n  ${evidence(facts)}`] : [];
}

/** Another scenario may break a node under the job at any time: facts count when nothing has begun while they were read. */
function factsAtRest(live: LiveKcover, job: LiveJob, incidents: number): Promise<RunFacts> {
  return until(`facts of ${job.name} at rest`, settledWithinMs, async () => {
    const facts = await live.facts(job);
    const records = await live.settled(job, { incidents, withinMs: settledWithinMs });
    const alive = (pods: readonly PodLife[]): string =>
      String(pods.filter(({ gone }) => gone === undefined).map(({ uid }) => uid));
    const isSame = records.length === facts.records.length && alive(live.recorder.podsOf(job)) === alive(facts.pods);
    return isSame ? { found: facts } : { missing: `${facts.records.length} records, and then ${records.length}` };
  });
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function putBack(live: LiveKcover, job: LiveJob): Promise<void> {
  await surely(`${job.name} ended`, () => live.end(job));
  for (const node of job.nodes) await surely(`${node.name} released`, () => live.release(node));
}
