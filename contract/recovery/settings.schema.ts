/** Settings of recoveries, a part of the worker's. */

import { z } from 'zod';
import {
  capacityChoices,
  checkpointStrategies,
  hangResponses,
  recoveryModes,
  restartLevels,
} from '../job/job-overrides.ts';
import { type JobKind, jobKinds, stopMethods } from '../job/jobs.ts';
import { codePattern, duration, longestAgeMs, pattern } from '../settings/values.schema.ts';

const stop = z.enum(stopMethods).default('suspend');

const unsafe = z.enum(['refuse', 'stop']).default('refuse');

const categoryLimit = z.int().min(1).max(50);

const budget = z
  .strictObject({
    recoveries: categoryLimit
      .default(5)
      .describe(
        'Recoveries of one job in a sliding window: those that blame its own code, and separately those of unknown blame',
      ),
    hardware: categoryLimit
      .default(20)
      .describe('The same for those that blame a GPU, a link or a switch; they count in no other category'),
    platform: categoryLimit
      .default(20)
      .describe('The same for those that blame the cluster: nodes that are not ready, evictions, preemption'),
    user: categoryLimit.optional().describe("For the job's own code, instead of `recoveries`"),
    unknown: categoryLimit.optional().describe('For those of unknown blame, instead of `recoveries`'),
    crashLoop: categoryLimit
      .default(3)
      .describe(
        "After so many recoveries in a row that blame the job's own code, without a newer checkpoint, the next is refused until a person requests it or a newer checkpoint exists",
      ),
    total: z
      .int()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Most recoveries in the whole life of a job, whatever they blame and without those that a person requested; further ones are left to a person. Left out: no limit',
      ),
    label: categoryLimit
      .default(5)
      .describe('The same for those requested by the need-recovery label; kcover recover has no limit'),
    window: duration('1h'),
    backoff: z
      .strictObject({ first: duration('30s'), most: duration('10m') })
      .prefault({})
      .describe('Between two recoveries; doubles'),
  })
  .prefault({});

/** A job with at least this many GPUs needs an approval; left out: none does. */
const gpus = z.int().min(0).optional();

const approval = z
  .strictObject({
    dead: gpus.describe(
      'For a job that no longer runs: with at least this many GPUs, a stop needs an approval; left out: none does',
    ),
    degrading: gpus.describe('The same for one that runs and is likely to fail soon'),
    slow: gpus.describe('The same for one that is slow'),
    within: duration('30m').describe('How long to wait for the answer'),
    otherwise: z.enum(['approve', 'deny']).default('deny').describe('What applies without an answer'),
  })
  .prefault({})
  .describe('Recoveries that need an approval: kcover approve, kcover deny');

const checkpoint = z
  .strictObject({
    strategy: z
      .enum(checkpointStrategies)
      .default('fresh')
      .describe(
        'none: stop at once; fresh: after the next checkpoint, where that is expected to cost less; on-termination: the trainer saves on SIGTERM',
      ),
    most: duration('2h').describe('The longest wait for a fresh one'),
    acknowledged: duration('1m').describe('How long after the stop a final checkpoint may still be reported'),
    mtbf: duration('1h').describe('How long a job on a degrading node is expected to keep running'),
    slowdown: z
      .number()
      .min(0)
      .max(1)
      .default(0.3)
      .describe('Expected loss of speed of a job on a slow node, as a fraction'),
  })
  .prefault({})
  .describe('Checkpoints before a stop, for jobs that report progress');

const choice = z.enum(capacityChoices);
const capacity = z
  .strictObject({
    check: z.boolean().default(true).describe('Whether to check capacity before a stop'),
    short: choice.default('hold').describe('What to do where there is none and the job still runs'),
    dead: choice
      .default('restart')
      .describe(
        'The same for a job that no longer runs; restart: its pods stay pending, where an autoscaler sees them',
      ),
    standbyTaint: z.string().min(1).default('kcover.io/spare').describe('Key of the taint of standby nodes'),
    priorityClass: z
      .string()
      .min(1)
      .optional()
      .describe('Priority class for the pods of a restarted job; for kinds whose pod template can be changed'),
  })
  .prefault({})
  .describe('Capacity for the next attempt');

const waves = z
  .strictObject({
    pods: z.int().min(1).default(500).describe('Pods that may be stopped together; a larger job has a wave of its own'),
    every: duration('1m').describe('How long after one wave the next begins'),
    most: duration('15m').describe('Longest wait of one recovery: it begins then, whatever the others do'),
  })
  .prefault({})
  .describe(
    'Recoveries of [several nodes with one cause](../judgement.md#several-nodes-with-one-cause) begin in waves: the higher priority class first, then the larger job',
  );

const levels = z
  .strictObject({
    first: z
      .enum(restartLevels)
      .default('job')
      .describe('What is tried first: training inside its processes, the broken pods alone, or the whole job'),
    process: duration('2m').describe('How long training may take to continue after it was asked to'),
    pod: duration('5m').describe('How long restarted pods may take to run again'),
  })
  .prefault({})
  .describe('What is restarted; each level is followed by the next');

const hang = z
  .strictObject({
    response: z.enum(hangResponses).default('notify').describe('Response to training that hangs'),
  })
  .prefault({});

/** A job may choose only what the list holds. */
const jobMay = z
  .strictObject({
    mode: z.array(z.enum(recoveryModes)).default([...recoveryModes]),
    checkpoint: z.array(z.enum(checkpointStrategies)).default([...checkpointStrategies]),
    capacity: z.array(choice).default([...capacityChoices]),
    level: z.array(z.enum(restartLevels)).default([...restartLevels]),
    hang: z.array(z.enum(hangResponses)).default([...hangResponses]),
    retries: z
      .int()
      .min(0)
      .max(100)
      .default(20)
      .describe('Most recoveries for its own code in the window of the budget'),
    suppression: z
      .array(codePattern)
      .default(['pod/*'])
      .describe('Codes that a job may suppress for itself by annotation, such as pod/* or xid/94'),
  })
  .prefault({})
  .describe('What a job may request in its annotations; a request beyond it is ignored, and the incident says so');

/** `recovery` of the worker's settings. */
export const recoverySettings = z
  .strictObject({
    correlation: duration('500ms').describe(
      'How long a pod failure waits for a fault of its node, and a slow node for others of the same verdict, to form one incident',
    ),
    silentAgent: duration('2m').describe(
      'How long a pod failure waits for the agent of its node when that is silent: the node may have a fault that it cannot report',
    ),
    attempts: z.int().min(1).max(10).default(3).describe('Most stops in one incident; after the last it is escalated'),
    budget,
    mode: z
      .enum(['grace', 'force'])
      .default('grace')
      .describe('force: pods are deleted at once, without time to save anything'),
    overdue: z
      .enum(['force', 'person'])
      .default('force')
      .describe('Pods that are still there after deadlines.stop are deleted by force, or left to a person'),
    approval,
    checkpoint,
    capacity,
    waves,
    levels,
    hang,
    jobMay,
    stop: z
      .strictObject(Object.fromEntries(jobKinds.map((kind) => [kind, stop])) as Record<JobKind, typeof stop>)
      .prefault({})
      .describe('Preferred way of stopping all pods of a kind; another is used where this one is not possible'),
    unsafeSuspend: z
      .strictObject({ Job: unsafe, JobSet: unsafe, TrainJob: unsafe, MPIJobV2beta1: unsafe })
      .prefault({})
      .describe(
        'A job whose own controller may fail it while it is suspended, because ranks exit with an error when their peers go: refuse to stop it, or stop it',
      ),
    deadNode: z
      .strictObject({
        force: z
          .boolean()
          .default(true)
          .describe(
            'Whether pods that outlive their grace period on a node that stays not ready, or is gone, are deleted by force',
          ),
        after: duration('30s').describe('How long a node must have been not ready without interruption'),
        grace: duration('5m').describe('Longest grace period that is waited for on such a node'),
      })
      .prefault({})
      .describe('Pods that no kubelet can end any more'),
    evidence: z
      .strictObject({
        within: duration('20s', 60_000).describe(
          'How long a stop may wait for the logs of its pods, at most 1m; 0s: none are captured',
        ),
        directory: z.string().min(1).default('/var/lib/kcover/evidence').describe('Where they are stored'),
        keep: duration('168h', longestAgeMs).describe('How long they are kept; at most 3650d'),
        most: z
          .int()
          .min(67_108_864)
          .default(8_589_934_592)
          .describe('Most bytes in total; the oldest is deleted first. One attempt keeps at most 64 MiB'),
        share: z
          .number()
          .min(1)
          .max(100)
          .default(25)
          .describe('Percent of `most` that the jobs of one namespace may have'),
        redact: z.array(pattern).default([]).describe('Further regular expressions of what is redacted in logs'),
      })
      .prefault({})
      .describe('Evidence captured of an attempt before it is stopped'),
    verify: z
      .strictObject({
        first: duration('15m').describe('Until the new attempt reports its first step'),
        stall: duration('10m').describe(
          'Longest time without a further step; a slower job gets ten times its own pace',
        ),
        most: duration('1h').describe('Until the last step before the fault is passed'),
      })
      .prefault({})
      .describe('Verification that training continues, for jobs that report progress'),
    deadlines: z
      .strictObject({
        hold: duration('1h').describe('Held by a refused quarantine, or for lack of capacity'),
        stop: duration('15m').describe('Until the old pods are observed gone'),
        restart: duration('10m').describe('Until all new pods are ready'),
        placement: duration('24h').describe('Further time while pods are unschedulable'),
      })
      .prefault({}),
  })
  .prefault({});
