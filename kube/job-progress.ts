/** What the annotations of a job say of its training. Anybody may have written them, so nothing is believed that cannot be. Pure. */

import type { V1ObjectMeta } from '@kubernetes/client-node';
import { annotations } from '../contract/ids.ts';
import type { JobProgress } from '../contract/progress.ts';
import { timeOf } from './time.ts';

/** Undefined without a step and its time. A checkpoint of a step that was not reached is left out. */
export function progressOf(metadata: V1ObjectMeta | undefined): JobProgress | undefined {
  const given = metadata?.annotations ?? {};
  const step = wholeNumber(given[annotations.step]);
  const at = instant(given[annotations.progressAt]);
  if (step === undefined || at === undefined) return undefined;
  const checkpointStep = wholeNumber(given[annotations.checkpointStep]);
  return { step, ...(checkpointStep !== undefined && checkpointStep <= step && { checkpointStep }), at };
}

const wholeNumber = (text: string | undefined): number | undefined => (text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined);

/** JavaScript takes almost anything for a date. */
const instant = (text: string | undefined): string | undefined => (text !== undefined && /^\d{4}-\d\d-\d\dT\d/.test(text) ? timeOf(text) : undefined);
