/** Validation of what preflight containers send. A tenant writes it, so everything is bounded. */

import { z } from 'zod';
import { preflightLimits } from './preflight.ts';
import type { RoundRequest, RoundResult } from './rounds.ts';

const rank = z
  .int()
  .min(0)
  .max(preflightLimits.size - 1);

const roundResult = z.strictObject({
  round: z
    .int()
    .min(0)
    .max(preflightLimits.rounds - 1),
  peer: rank.exactOptional(),
  status: z.enum(['ok', 'fail', 'skip']),
  gbps: z.number().min(0).exactOptional(),
  because: z.string().max(preflightLimits.because).exactOptional(),
}) satisfies z.ZodType<RoundResult>;

export const roundRequest = z
  .strictObject({
    schema: z.literal(1),
    size: z.int().min(2).max(preflightLimits.size),
    address: z
      .string()
      .max(preflightLimits.address)
      .regex(/^[\w.:[\]-]+:\d{1,5}$/, 'host:port is needed'),
    results: z.array(roundResult).max(preflightLimits.rounds),
  })
  .refine(({ results }) => results.every(({ round }, index) => round === index), {
    path: ['results'],
    message: 'every round from 0 is needed, in order',
  })
  .refine(({ results, size }) => results.every(({ peer }) => peer === undefined || peer < size), {
    path: ['results'],
    message: 'a partner is not below the size',
  }) satisfies z.ZodType<RoundRequest>;
