/** Simulates the trainer of a job: makes steps while all its pods run, reports them, and begins every attempt from the last checkpoint. */

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { type JobProgress, type Progress, progressDirectory } from '../contract/progress/progress.ts';
import { progressOf } from '../kube/jobs/progress.ts';
import { memberOf, rankOf } from '../kube/pods/ranks.ts';
import type { Api } from './api.ts';
import { isRunning, podsOf, readJob, type RunningJob, sizeOf } from './jobs.ts';
import type { SimulatedNode } from './nodes.ts';
import { until } from './until.ts';

export interface Training {
  readonly msPerStep: number;
  readonly stepsPerCheckpoint: number;
  /** The step of the checkpoint from which it begins. */
  readonly from: number;
}

export interface Trainer {
  /** Completed steps of the present attempt. */
  readonly step: number;
  /** The last saved step, in whatever attempt. */
  readonly checkpointStep: number;
  /** The present attempt makes no further step; the next one does. */
  stall(): void;
  /** Each step takes so long from the next one on. */
  pace(msPerStep: number): void;
  /** Once resolved, no step is made and nothing reported. */
  stop(): Promise<void>;
}

/** All pods of the job while all of them run. */
export interface WholeAttempt {
  readonly id: string;
  /** By rank. */
  readonly pods: readonly V1Pod[];
}

type TrainerCluster = { readonly api: Api; readonly nodes: readonly SimulatedNode[] };

/** How a step is reported; by default in the progress file of rank 0. */
export type ReportStep = (
  cluster: TrainerCluster,
  attempt: WholeAttempt,
  progress: Required<Progress>,
) => Promise<void>;

/** Trains until it is stopped, or the test cluster ends. It makes no step while it cannot read the pods. */
export function startTrainer(
  cluster: TrainerCluster,
  job: RunningJob,
  training: Training,
  report: ReportStep = reportInFile(job),
): Trainer {
  const ending = new AbortController();
  let step = training.from;
  let checkpoint: Required<Pick<Progress, 'checkpointStep' | 'checkpointAt'>> = {
    checkpointStep: step,
    checkpointAt: new Date().toISOString(),
  };
  let attempt: string | undefined;
  let stalled: string | undefined;
  let { msPerStep } = training;

  async function makeStep(): Promise<void> {
    const seen = await wholeAttempt(cluster.api, job);
    if (seen === undefined || seen.id === stalled || ending.signal.aborted) return;
    // An attempt begins by reporting the loaded checkpoint.
    step = seen.id === attempt ? step + 1 : checkpoint.checkpointStep;
    attempt = seen.id;
    const at = new Date().toISOString();
    if (step > checkpoint.checkpointStep && step % training.stepsPerCheckpoint === 0)
      checkpoint = { checkpointStep: step, checkpointAt: at };
    await report(cluster, seen, { step, ...checkpoint, at, phase: 'training' });
  }

  async function train(): Promise<void> {
    for (let next = Date.now(); !ending.signal.aborted; next = Math.max(next + msPerStep, Date.now())) {
      await sleep(Math.max(0, next - Date.now()), undefined, { signal: ending.signal }).catch(() => undefined);
      if (!ending.signal.aborted) await makeStep().catch(() => undefined);
    }
  }

  const trained = train();
  return {
    get step() {
      return step;
    },
    get checkpointStep() {
      return checkpoint.checkpointStep;
    },
    stall() {
      stalled = attempt;
    },
    pace(ms) {
      msPerStep = ms;
    },
    stop: () => {
      ending.abort();
      return trained;
    },
  };
}

const reportInFile =
  (job: RunningJob): ReportStep =>
  async ({ nodes }, { pods: [first] }, progress) => {
    const node = nodes.find(({ name }) => name === first?.spec?.nodeName);
    if (node) await writeProgressFile(node, job, progress);
  };

/** Undefined while not all desired pods run. */
async function wholeAttempt(api: Api, job: RunningJob): Promise<WholeAttempt | undefined> {
  const [object, pods] = await Promise.all([readJob(api, job), podsOf(api, job)]);
  const byRank = pods.toSorted((a, b) => rankIn(pods, a) - rankIn(pods, b));
  if (pods.length === 0 || pods.length !== sizeOf(job, object) || !pods.every(isRunning)) return undefined;
  return { id: pods.map(({ metadata }) => metadata?.uid).join(' '), pods: byRank };
}

/** Rank of a pod among all of its job; those without a rank come last. */
export function rankIn(pods: readonly V1Pod[], pod: V1Pod): number {
  const led = pods.some((each) => {
    const place = memberOf(each)?.place;
    return place !== undefined && 'rank' in place;
  });
  return rankOf(memberOf(pod)?.place, led) ?? Infinity;
}

/** Its processes need a moment to end, so that the last step of an attempt is clearly older than the next attempt. */
export const endsSlowly = { terminationSeconds: 2 } as const;

/** For training that takes seconds: a report reaches the job's annotations within a second. */
export const shortReports = {
  agentSettings: { progress: { every: '500ms' } },
  controllerSettings: { progress: { every: '1s' } },
} as const;

/** Waits until the job's reported progress matches, and returns the match. */
export const awaitProgress = <T>(
  api: Api,
  job: RunningJob,
  look: (progress: JobProgress) => T | false | undefined,
  withinMs = 60_000,
): Promise<T> =>
  until(`progress of ${job.name}`, withinMs, async () => {
    const { metadata } = await readJob(api, job);
    const progress = progressOf(metadata);
    const found = progress && look(progress);
    return found === undefined || found === false ? { missing: `the job says ${JSON.stringify(progress)}` } : { found };
  });

/** Written atomically, as docs/progress.md requires. Directories of a removed node are not recreated. */
export async function writeProgressFile(
  { hostRoot }: Pick<SimulatedNode, 'hostRoot'>,
  { namespace, name }: RunningJob,
  progress: Progress,
): Promise<void> {
  const directory = join(hostRoot, progressDirectory, namespace);
  await mkdir(directory).catch((error: { readonly code?: string }) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const file = join(directory, `${name}-0.json`);
  await writeFile(`${file}.part`, JSON.stringify(progress));
  await rename(`${file}.part`, file);
}
