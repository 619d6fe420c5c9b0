/** Validation of the preflight files that agents send. Tenants write their text, so everything is bounded. */

import { z } from 'zod';
import { plainLine, time } from '../plain-line.schema.ts';
import {
  addressPattern,
  nodePattern,
  preflightChecks,
  preflightLimits,
  type PreflightReport,
  reportFields,
} from './preflight.ts';
import type { PreflightFile, PreflightFiles } from './files.ts';

const address = z.string().max(preflightLimits.address).regex(addressPattern, 'is no address');
const quantity = z.number().min(0);
const rank = z
  .int()
  .min(0)
  .max(preflightLimits.size - 1);
/** Node names are DNS subdomains. */
const name = z.string().max(253).regex(nodePattern, 'is no name');
/** Files of one request. */
const filesPerRequest = 50;
/** A problem may quote what it found. */
const problemText = plainLine(500);

const pairTest = z.strictObject({
  round: z
    .int()
    .min(0)
    .max(preflightLimits.rounds - 1),
  self: address.exactOptional(),
  peer: address.exactOptional(),
  status: z.enum(['ok', 'fail', 'skip']),
  gbps: quantity.exactOptional(),
  because: plainLine(preflightLimits.because).exactOptional(),
});

const report = z
  .strictObject({
    size: z.int().min(1).max(preflightLimits.size),
    rank,
    node: name,
    address,
    failed: z.array(z.enum(preflightChecks)).max(preflightChecks.length).exactOptional(),
    threshold: quantity.exactOptional(),
    tests: z.array(pairTest).max(preflightLimits.rounds),
  })
  .refine((read) => read.rank < read.size, {
    path: ['rank'],
    message: 'is not below size',
  }) satisfies z.ZodType<PreflightReport>;

const place = {
  namespace: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
  workload: name,
  rank,
  writtenAt: time,
};

const file = z.union([
  z.strictObject({ ...place, report }),
  z.strictObject({
    ...place,
    problem: z.strictObject({ field: z.enum([...reportFields, 'too-large']), because: problemText }),
  }),
]) satisfies z.ZodType<PreflightFile>;

export const preflightFiles = z.strictObject({
  schema: z.literal(1),
  node: name,
  sentAt: time,
  files: z.array(file).max(filesPerRequest),
}) satisfies z.ZodType<PreflightFiles>;
