/** The history of faults as a text, which stands on the Node object after a release. */

import { z } from 'zod';
import { actions } from '../faults/action.ts';
import { faultLimits } from '../faults/faults.ts';
import type { NodeHistory } from './history.ts';

const mostBytes = 32_768;

const printable = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\x20-\x7E]*$/);

const burst = z
  .strictObject({
    code: z
      .string()
      .max(faultLimits.code)
      .regex(/^[\w./-]+$/),
    device: printable(64).optional(),
    place: printable(40).optional(),
    action: z.enum(actions).optional(),
    explained: z.literal(true).optional(),
    untrusted: z.literal(true).optional(),
    first: z.int(),
    last: z.int(),
  })
  .refine(({ first, last }) => first <= last);

const history = z.array(burst).max(64);

/**
 * Undefined when it is no history: then there is nothing to count. Others may write on the node too: what is later than `now`, ms, never happened, and
 * would never become old.
 */
export function parseHistory(text: string | undefined, now: number): NodeHistory | undefined {
  if (text === undefined || text.length > mostBytes) return undefined;
  try {
    const bursts = history.safeParse(JSON.parse(text)).data as NodeHistory | undefined;
    return bursts?.filter(({ last }) => last <= now);
  } catch {
    return undefined;
  }
}
