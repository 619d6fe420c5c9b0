/** Validates a file of facts: fields that decisions use are required, others are kept. */

import { parse } from 'yaml';
import { z } from 'zod';
import { KcoverError } from '../../contract/errors.ts';
import { faultFields } from '../../contract/faults/fault.schema.ts';
import { blames } from '../../contract/faults/faults.ts';
import {
  capacityChoices,
  checkpointStrategies,
  hangResponses,
  slowResponses,
  recoveryModes,
  restartLevels,
} from '../../contract/job/job-overrides.ts';
import { jobKinds, stopMethods } from '../../contract/job/jobs.ts';
import { logChoices } from '../../contract/progress/logs.ts';
import { progressPhases } from '../../contract/progress/progress.ts';
import { type WorkerSettings, workerSettings } from '../../contract/settings/settings.schema.ts';
import type { PlanInput } from './facts.ts';

const time = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-11-21T07:09:03Z' });
/** Milliseconds since the epoch; small enough that it is still a date with any duration of the settings added. */
const epochMs = z
  .number()
  .min(0)
  .max(Date.UTC(9999, 11, 31));
const text = z.string().min(1);
const count = z.int().min(0);
const because = z.string();
const held = z.looseObject({ by: z.string(), reason: z.string() });

const pod = z.looseObject({ name: text, uid: text, node: text.optional() });

const fault = z.looseObject(faultFields);

const pace = z.looseObject({ msPerStep: z.number().positive(), stepsPerCheckpoint: z.number().positive().optional() });
const progress = z.looseObject({
  step: count,
  checkpointStep: count.optional(),
  at: time,
  phase: z.enum(progressPhases).optional(),
  pace: pace.optional(),
});

const overrides = z.looseObject({
  mode: z.enum(recoveryModes).optional(),
  checkpoint: z.enum(checkpointStrategies).optional(),
  capacity: z.enum(capacityChoices).optional(),
  minReplicas: z.int().min(1).optional(),
  allowedSizes: z.array(z.int().min(1)).optional(),
  level: z.enum(restartLevels).optional(),
  hang: z.enum(hangResponses).optional(),
  slow: z.enum(slowResponses).optional(),
  retries: z.int().min(0).max(100).optional(),
  suppression: z.looseObject({ codes: z.array(z.string()), until: time, reason: z.string() }).optional(),
  logFormat: z.enum(logChoices).optional(),
  logStep: text.optional(),
  logCheckpoint: text.optional(),
  ignored: z.array(z.string()),
});

const job = z.looseObject({
  ref: z.looseObject({ kind: z.enum(jobKinds), namespace: text, name: text, uid: text }),
  optedIn: z.boolean(),
  optedInAt: time,
  finished: z.looseObject({ as: z.enum(['succeeded', 'failed']), because }).optional(),
  suspension: z.looseObject({ by: z.enum(['owner', 'kcover']) }).optional(),
  restartPolicy: z.enum(['Never', 'OnFailure', 'Always', 'ExitCode']),
  podsExpected: count,
  toleratesQuarantine: z.boolean(),
  canStopBy: z.array(z.enum(stopMethods)),
  gpus: count.optional(),
  progress: progress.optional(),
  overrides: overrides.optional(),
  resourceVersion: z.string(),
});

const node = z.looseObject({
  name: text,
  uid: text,
  systemUuid: z.string(),
  ready: z.boolean(),
  cordoned: z.boolean(),
  taint: z.looseObject({ value: z.string(), ours: z.boolean() }).optional(),
});

const capacity = z.looseObject({
  needed: count,
  fit: count,
  fitWithStandby: count,
  standbyNodes: z.array(text),
  because,
  sizes: z.looseObject({ now: count, least: count }).optional(),
});

const facts = z.strictObject({
  schema: z.literal(1),
  at: time,
  settings: z.looseObject({}),
  attempt: z.looseObject({
    oldestPodAt: time.optional(),
    job,
    pods: z.array(pod),
    terminating: z.array(pod).optional(),
    nodes: z.array(node),
    undecided: z.array(z.looseObject({ node: text, because })),
    paused: held.optional(),
    unobservable: z.string().optional(),
  }),
  known: z.strictObject({
    fresh: z.array(fault),
    found: z.array(fault).optional(),
    handled: z.array(fault),
    usage: z.array(
      z.looseObject({
        incident: text,
        startedAt: epochMs,
        endedAt: epochMs.optional(),
        blame: z.enum(blames).optional(),
        asked: z.literal(true).optional(),
        step: count.optional(),
        checkpointStep: count.optional(),
      }),
    ),
    attemptStartedAt: time.optional(),
    historyUntil: time.optional(),
    paused: held.optional(),
    open: z.strictObject({ incident: text, stops: count, attempts: count, asked: z.boolean() }).optional(),
  }),
  hypothetical: fault.optional(),
  capacity: capacity.optional(),
  capacityOfAll: capacity.optional(),
  unseen: z.array(z.string()),
});

const most = 5;

/** Parses facts, or the whole output of `kcover plan --output json`, as JSON or YAML, and the settings in them. Throws `usage` with the problem. */
export function parseFacts(
  file: string,
  written: string,
): { readonly facts: PlanInput; readonly settings: WorkerSettings } {
  const document = unwrapped(parsed(file, written));
  const result = facts.safeParse(document);
  const settings = workerSettings.safeParse(result.data?.settings ?? {});
  // In zod's types optional fields may be undefined; values from a file never are.
  if (result.success && settings.success) return { facts: result.data as PlanInput, settings: settings.data };
  const issues = [...issuesOf(result.error, []), ...issuesOf(settings.error, ['settings'])];
  const more = issues.length > most ? `; and ${issues.length - most} more` : '';
  throw unusable(`${file}: ${issues.slice(0, most).join('; ')}${more}`);
}

const issuesOf = (error: z.ZodError | undefined, below: readonly string[]): string[] =>
  (error?.issues ?? []).map(
    ({ path, message }) => `${[...below, ...path.map(String)].join('.') || 'the file'}: ${message}`,
  );

function parsed(file: string, written: string): unknown {
  try {
    return parse(written);
  } catch (error) {
    throw unusable(
      `${file}: neither JSON nor YAML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
    );
  }
}

const unwrapped = (document: unknown): unknown =>
  typeof document === 'object' && document !== null && 'facts' in document ? document.facts : document;

const unusable = (why: string): KcoverError =>
  new KcoverError('usage', why, {
    what: 'the facts cannot be used',
    remedy: 'kcover plan JOB --output json > facts.json writes such a file',
  });
