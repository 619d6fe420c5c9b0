/** Validation of what arrives from agents. Everything is bounded: a compromised node can send false reports, but not flood. */

import { z } from 'zod';
import { sourcesOf, traitsOf } from '../faults/sources.ts';
import { faultSchema, nodeName } from '../faults/fault.schema.ts';
import type { Fault } from '../faults/faults.ts';
import { identifier, time } from '../plain-line.schema.ts';
import { gapKinds, type ReportBatch } from './reports.ts';

export const reportedFault = faultSchema
  .omit({ pod: true, quarantine: true, job: true, namespace: true, unobservable: true })
  .extend({ source: z.enum(sourcesOf('agent')) })
  .refine(({ source, code }) => traitsOf(source).codes.test(code), {
    path: ['code'],
    message: 'is no code of its source',
  }) satisfies z.ZodType<Fault>;

export const reportBatch = z.strictObject({
  schema: z.literal(1),
  node: nodeName,
  bootId: identifier(64),
  stream: identifier(64).min(1),
  reports: z.array(z.strictObject({ seq: z.int().min(1), fault: reportedFault })).max(1000),
  gaps: z
    .array(
      z.strictObject({
        seenAt: time,
        what: z.enum(gapKinds),
        lost: z.union([z.int().min(0), z.literal('unknown')]),
      }),
    )
    .max(100),
}) satisfies z.ZodType<ReportBatch>;
