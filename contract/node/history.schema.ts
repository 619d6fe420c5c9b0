/** The history of faults as a text, which stands on the Node object after a release. */

import { z } from 'zod';
import { actions } from '../faults/action.ts';
import { faultLimits } from '../faults/faults.ts';
import type { NodeHistory } from './history.ts';

const mostBytes = 32_768;

const burst = z
  .strictObject({
    code: z.string().min(1).max(faultLimits.code),
    device: z.string().max(64).optional(),
    place: z.string().max(40).optional(),
    action: z.enum(actions).optional(),
    explained: z.literal(true).optional(),
    first: z.int(),
    last: z.int(),
  })
  .refine(({ first, last }) => first <= last);

const history = z.array(burst).max(64);

/** Undefined when it is no history: then there is nothing to count. */
export function parseHistory(text: string | undefined): NodeHistory | undefined {
  if (text === undefined || text.length > mostBytes) return undefined;
  try {
    return history.safeParse(JSON.parse(text)).data as NodeHistory | undefined;
  } catch {
    return undefined;
  }
}
