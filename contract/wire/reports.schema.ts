/** Validation of what arrives from agents. Everything is bounded: a compromised node can send false reports, but not flood. */

import { z } from 'zod';
import { sourcesOf, traitsOf } from '../faults/sources.ts';
import { actions, type Fault, faultLimits } from '../faults/faults.ts';
import { identifier, time } from '../plain-line.schema.ts';
import { nodePattern } from '../preflight/preflight.ts';
import { gapKinds, type ReportBatch } from './reports.ts';

/** Text is truncated and cleaned on receipt, so that no fault is refused for a single character. */
const text = (length: number) => z.string().max(length);
const node = z.string().min(1).max(253).regex(nodePattern, 'is no name');

export const reportedFault = z
  .strictObject({
    id: text(faultLimits.id).min(1),
    source: z.enum(sourcesOf('agent')),
    code: text(faultLimits.code),
    message: text(faultLimits.message),
    seenAt: time,
    node: node.exactOptional(),
    device: identifier(64).exactOptional(),
    action: z.enum(actions).exactOptional(),
    standing: z.enum(['current', 'retired', 'unknown']).exactOptional(),
    kernel: z.strictObject({ bootId: identifier(64), sequence: z.int().min(0) }).exactOptional(),
    kernelUs: z.int().min(0).exactOptional(),
    evidence: z.array(text(faultLimits.evidenceLine)).max(faultLimits.evidenceLines).exactOptional(),
  })
  .refine(({ source, code }) => traitsOf(source).codes.test(code), {
    path: ['code'],
    message: 'is no code of its source',
  }) satisfies z.ZodType<Fault>;

export const reportBatch = z.strictObject({
  schema: z.literal(1),
  node,
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
