/** Validation of what agents report from logs, and of what the controller wants to be followed. */

import { z } from 'zod';
import { isObjectName, isObjectUid } from '../object-names.ts';
import { plainLine, time } from '../plain-line.schema.ts';
import { nodePattern } from '../preflight/preflight.ts';
import {
  logFormats,
  logLimits,
  type LoggedStraggler,
  type LoggedWatchdog,
  type LogReport,
  type LogReports,
  type WantedLog,
} from './logs.ts';
import { progressPhases } from './progress.ts';

const count = z.int().min(0);
/** -1: before the first collective. */
const position = z.int().min(-1);

const watchdog = z.strictObject({
  at: time,
  what: z.enum(['timeout', 'position', 'dump', 'stuck', 'heartbeat', 'section']),
  rank: count.exactOptional(),
  from: count.exactOptional(),
  group: plainLine(80).exactOptional(),
  operation: plainLine(40).exactOptional(),
  sequence: count.exactOptional(),
  lastEnqueued: position.exactOptional(),
  lastCompleted: position.exactOptional(),
}) satisfies z.ZodType<LoggedWatchdog>;

const straggler = z.strictObject({
  at: time,
  rank: count,
  reports: z.int().min(1),
}) satisfies z.ZodType<LoggedStraggler>;

const report = z.strictObject({
  pod: z.string().refine(isObjectUid),
  at: time,
  step: count.exactOptional(),
  stepAt: time.exactOptional(),
  checkpointStep: count.exactOptional(),
  checkpointAt: time.exactOptional(),
  phase: z.enum(progressPhases).exactOptional(),
  phaseAt: time.exactOptional(),
  straggler: straggler.exactOptional(),
  watchdogs: z.array(watchdog).max(logLimits.watchdogs).exactOptional(),
}) satisfies z.ZodType<LogReport>;

export const logReports = z.strictObject({
  schema: z.literal(1),
  node: z.string().min(1).max(253).regex(nodePattern, 'is no name'),
  read: z.array(z.string().refine(isObjectUid)).max(logLimits.perNode),
  logs: z.array(report).max(logLimits.perNode),
}) satisfies z.ZodType<LogReports>;

/** Parts of a path, so each is a name that Kubernetes allows. */
const name = z.string().refine(isObjectName);
const pattern = z.string().min(1).max(logLimits.pattern);

export const wantedLog = z.object({
  namespace: name,
  pod: name,
  uid: z.string().refine(isObjectUid),
  container: name,
  format: z.enum(['auto', ...logFormats]),
  patterns: z.object({ step: pattern.exactOptional(), checkpoint: pattern.exactOptional() }).exactOptional(),
}) satisfies z.ZodType<WantedLog>;
