/** Validation of what arrives from agents. Bounded in every direction: a broken-into node can lie, not flood. */

import { z } from 'zod';
import { actions, type Fault, faultLimits } from './faults.ts';
import { gapKinds, type ReportBatch } from './reports.ts';

const time = z.iso.datetime({ offset: true });
const line = (length: number) => z.string().max(length);

/** A fault that a node's own agent may report: of the kernel, never of a pod, the Node object or a person. */
export const reportedFault = z.strictObject({
  id: line(faultLimits.id).min(1),
  source: z.literal('kernel'),
  code: z
    .string()
    .max(faultLimits.code)
    .regex(/^[a-z]+\/[\w-]+$/),
  message: line(faultLimits.message),
  seenAt: time,
  node: z.string().max(253).exactOptional(),
  device: line(64).exactOptional(),
  action: z.enum(actions).exactOptional(),
  standing: z.enum(['current', 'retired', 'unknown']).exactOptional(),
  kernel: z.strictObject({ bootId: line(64), sequence: z.int().min(0) }).exactOptional(),
  evidence: z.array(line(faultLimits.evidenceLine)).max(faultLimits.evidenceLines).exactOptional(),
}) satisfies z.ZodType<Fault>;

export const reportBatch = z.strictObject({
  schema: z.literal(1),
  node: z.string().min(1).max(253),
  bootId: line(64),
  stream: line(64).min(1),
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
