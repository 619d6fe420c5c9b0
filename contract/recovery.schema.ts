/** Settings of recoveries, a part of the worker's. */

import { z } from 'zod';
import { capacityChoices, checkpointStrategies, hangResponses, recoveryModes, restartLevels } from './job-overrides.ts';
import { type JobKind, jobKinds, stopMethods } from './jobs.ts';
import { duration, longestAgeMs, pattern } from './settings-values.schema.ts';

const stop = z.enum(stopMethods).default('suspend');

const unsafe = z.enum(['refuse', 'stop']).default('refuse');

const categoryLimit = z.int().min(1).max(50);

const budget = z
  .strictObject({
    recoveries: categoryLimit
      .default(5)
      .describe('Recoveries of one job in a sliding window: those that blame its own code, and apart from them those that blame nobody'),
    hardware: categoryLimit.default(20).describe('The same for those that blame a GPU, a link or a switch; they use up nothing else'),
    platform: categoryLimit.default(20).describe('The same for those that blame the cluster: nodes that are not ready, evictions, preemption'),
    user: categoryLimit.optional().describe("For the job's own code, where it is not to be `recoveries`"),
    unknown: categoryLimit.optional().describe('For those that blame nobody, where it is not to be `recoveries`'),
    crashLoop: categoryLimit
      .default(3)
      .describe(
        "So many recoveries in a row that blame the job's own code, without a newer checkpoint, and the next is refused until a person asks for it, or a newer checkpoint is there",
      ),
    label: categoryLimit.default(5).describe('The same for those that the need-recovery label asks for; kcover recover has no limit'),
    window: duration('1h'),
    backoff: z
      .strictObject({ first: duration('30s'), most: duration('10m') })
      .prefault({})
      .describe('Between two recoveries; doubles'),
  })
  .prefault({});

/** From so many GPUs of a job on a person is asked; left out: nobody is. */
const gpus = z.int().min(0).optional();

const approval = z
  .strictObject({
    dead: gpus.describe('A job that no longer runs: from so many GPUs on a person is asked before its pods are stopped; left out: nobody is'),
    degrading: gpus.describe('The same for one that runs and may end any moment'),
    slow: gpus.describe('The same for one that is slow'),
    within: duration('30m').describe('How long the answer is awaited'),
    otherwise: z.enum(['approve', 'deny']).default('deny').describe('What silence means'),
  })
  .prefault({})
  .describe('Recoveries that need a person: kcover approve, kcover deny');

const checkpoint = z
  .strictObject({
    strategy: z
      .enum(checkpointStrategies)
      .default('fresh')
      .describe(
        'none: stop at once; fresh: after the next checkpoint, where that is expected to cost less; on-termination: the trainer saves when it is told to end',
      ),
    most: duration('2h').describe('The longest wait for a fresh one'),
    acknowledged: duration('1m').describe('How long after the stop a dying gasp may still be told'),
    mtbf: duration('1h').describe('How long a job on a degrading node is expected to run on'),
    slowdown: z.number().min(0).max(1).default(0.3).describe('The part of its speed that a job on a slow node is expected to have lost'),
  })
  .prefault({})
  .describe('What is saved before a stop, for jobs that report progress');

const choice = z.enum(capacityChoices);
const capacity = z
  .strictObject({
    check: z.boolean().default(true).describe('Whether anybody looks for room before a stop'),
    short: choice.default('hold').describe('Where there is none and the job still runs'),
    dead: choice.default('restart').describe('The same for a job that no longer runs; restart: its pods wait for the scheduler, and an autoscaler sees them'),
    standbyTaint: z.string().min(1).default('kcover.io/spare').describe('Key of the taint of stand-by nodes'),
    priorityClass: z
      .string()
      .min(1)
      .optional()
      .describe('What pods of a restarted job are given, so that they come before others; for kinds whose pods may be changed'),
  })
  .prefault({})
  .describe('Room for the next attempt');

const levels = z
  .strictObject({
    first: z.enum(restartLevels).default('job').describe('What is tried first: training inside its processes, the broken pods alone, or the whole job'),
    process: duration('2m').describe('How long training may take to go on by itself'),
    pod: duration('5m').describe('How long the broken pods alone may take to run again'),
  })
  .prefault({})
  .describe('What is restarted; each level is followed by the next');

const hang = z
  .strictObject({
    response: z.enum(hangResponses).default('notify').describe('What it leads to when training stands still'),
  })
  .prefault({});

/** Whatever is left out of a list a job may not choose. */
const jobMay = z
  .strictObject({
    mode: z.array(z.enum(recoveryModes)).default([...recoveryModes]),
    checkpoint: z.array(z.enum(checkpointStrategies)).default([...checkpointStrategies]),
    capacity: z.array(choice).default([...capacityChoices]),
    level: z.array(z.enum(restartLevels)).default([...restartLevels]),
    hang: z.array(z.enum(hangResponses)).default([...hangResponses]),
    retries: z.int().min(0).max(100).default(20).describe('At most so many recoveries for its own code in the window of the budget'),
  })
  .prefault({})
  .describe('What a job may ask for in its annotations; a wish beyond it does not count, and the incident says so');

/** `recovery` of the worker's settings. */
export const recoverySettings = z
  .strictObject({
    correlation: duration('500ms').describe('How long a pod failure waits for a fault of its node, and a slow node for others of the same verdict'),
    silentAgent: duration('2m').describe(
      'How long a pod failure waits for the agent of its node, when that is silent: the node may be bad, and nobody can say so',
    ),
    attempts: z.int().min(1).max(10).default(3).describe('Stops in one incident; after the last it is handed over'),
    budget,
    mode: z.enum(['grace', 'force']).default('grace').describe('force: pods are deleted at once, without time to save anything'),
    overdue: z.enum(['force', 'person']).default('force').describe('Pods that are still there after deadlines.stop are deleted by force, or left to a person'),
    approval,
    checkpoint,
    capacity,
    levels,
    hang,
    jobMay,
    stop: z
      .strictObject(Object.fromEntries(jobKinds.map((kind) => [kind, stop])) as Record<JobKind, typeof stop>)
      .prefault({})
      .describe('Preferred way of stopping all pods of a kind; another is taken where this one is not possible'),
    unsafeSuspend: z
      .strictObject({ Job: unsafe, JobSet: unsafe, TrainJob: unsafe, MPIJobV2beta1: unsafe })
      .prefault({})
      .describe(
        'A job whose own controller may fail it while it is suspended, by ranks that end with an error when their peers go: refuse to stop it, or stop it',
      ),
    deadNode: z
      .strictObject({
        force: z
          .boolean()
          .default(true)
          .describe('Whether pods that outlive their grace period on a node that stays not ready, or is gone, are deleted by force'),
        after: duration('30s').describe('How long a node must have been not ready without a break'),
        grace: duration('5m').describe('A longer grace period of a pod is not waited for on such a node'),
      })
      .prefault({})
      .describe('Pods that no kubelet ends any more'),
    evidence: z
      .strictObject({
        within: duration('20s', 60_000).describe('How long a stop may wait for the logs of its pods, at most 1m; 0s: nothing is kept'),
        directory: z.string().min(1).default('/var/lib/kcover/evidence').describe('Where they are kept'),
        keep: duration('168h', longestAgeMs).describe('How long; at most 3650d'),
        most: z
          .int()
          .min(67_108_864)
          .default(8_589_934_592)
          .describe('Bytes of everything that is kept; the oldest goes first. One attempt keeps at most 64 MiB'),
        share: z.number().min(1).max(100).default(25).describe('Percent of `most` that the jobs of one namespace may have'),
        redact: z.array(pattern).default([]).describe('Further regular expressions of what is blacked out in logs'),
      })
      .prefault({})
      .describe('What is kept of an attempt before it is stopped'),
    verify: z
      .strictObject({
        first: duration('15m').describe('Until the new attempt reports its first step'),
        stall: duration('10m').describe('Without a further step; a job that steps more slowly gets ten times its own pace'),
        most: duration('1h').describe('Until the last step before the fault is passed'),
      })
      .prefault({})
      .describe('Proof that training moves on, for jobs that report progress'),
    deadlines: z
      .strictObject({
        hold: duration('1h').describe('Held by a refused quarantine, or for want of room'),
        stop: duration('15m').describe('Old pods observed gone'),
        restart: duration('10m').describe('All new pods ready'),
        placement: duration('24h').describe('After that, while the scheduler finds no room'),
      })
      .prefault({}),
  })
  .prefault({});
