/** Validation of the progress files that agents send. Tenants write their text, so everything is bounded. */

import { z } from 'zod';
import { time } from '../plain-line.schema.ts';
import { nodePattern, preflightLimits } from '../preflight/preflight.ts';
import { type Progress, type ProgressFile, type ProgressFiles, progressPhases } from './progress.ts';

const step = z.int().min(0);
/** Names of nodes and jobs are DNS subdomains. */
const name = z.string().min(1).max(253).regex(nodePattern, 'is no name');

const progress = z.strictObject({
  step,
  checkpointStep: step.exactOptional(),
  checkpointAt: time.exactOptional(),
  at: time,
  phase: z.enum(progressPhases).exactOptional(),
}) satisfies z.ZodType<Progress>;

const file = z.strictObject({
  namespace: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
  job: name,
  rank: z
    .int()
    .min(0)
    .max(preflightLimits.size - 1),
  writtenAt: time,
  progress,
}) satisfies z.ZodType<ProgressFile>;

export const progressFiles = z.strictObject({
  schema: z.literal(1),
  node: name,
  files: z.array(file).max(100),
}) satisfies z.ZodType<ProgressFiles>;
