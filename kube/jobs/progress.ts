/** Parses the progress annotations of a job. They are untrusted, so impossible values are ignored. Pure. */

import type { V1ObjectMeta } from '@kubernetes/client-node';
import { annotations } from '../../contract/ids.ts';
import { type JobProgress, type Pace, progressPhases, type TrainingNote } from '../../contract/progress/progress.ts';
import { timeOf } from '../client/time.ts';

/** Undefined without a step and its time. A checkpoint of a later step is left out. */
export function progressOf(metadata: V1ObjectMeta | undefined): JobProgress | undefined {
  const given = metadata?.annotations ?? {};
  const step = wholeNumber(given[annotations.step]);
  const at = instant(given[annotations.progressAt]);
  if (step === undefined || at === undefined) return undefined;
  const checkpointStep = wholeNumber(given[annotations.checkpointStep]);
  return {
    step,
    ...(checkpointStep !== undefined && checkpointStep <= step && { checkpointStep }),
    at,
    ...noteOf(given[annotations.training]),
  };
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

/** Most characters of the note. */
const noteLength = 500;
const weekMs = 7 * 24 * 3600_000;

/** The usable fields of the note. */
function noteOf(text: string | undefined): TrainingNote {
  const { phase, pace, pod } = fieldsOf(text === undefined || text.length > noteLength ? undefined : parsed(text));
  const known = progressPhases.find((each) => each === phase);
  const believed = paceOf(fieldsOf(pace));
  return { ...(known && { phase: known }), ...(believed && { pace: believed }), ...(isUid(pod) && { pod }) };
}

function paceOf({ msPerStep, stepsPerCheckpoint, slow }: Readonly<Record<string, unknown>>): Pace | undefined {
  if (!isAmount(msPerStep, weekMs)) return undefined;
  const slowdown = slowdownOf(fieldsOf(slow));
  return {
    msPerStep,
    ...(isAmount(stepsPerCheckpoint, Number.MAX_SAFE_INTEGER) && { stepsPerCheckpoint }),
    ...(slowdown && { slow: slowdown }),
  };
}

function slowdownOf({ since, bestMsPerStep }: Readonly<Record<string, unknown>>): Pace['slow'] {
  const from = typeof since === 'string' ? instant(since) : undefined;
  return from !== undefined && isAmount(bestMsPerStep, weekMs) ? { since: from, bestMsPerStep } : undefined;
}

const isUid = (value: unknown): value is string => typeof value === 'string' && /^[\w-]{1,64}$/.test(value);

const isAmount = (value: unknown, most: number): value is number =>
  typeof value === 'number' && value > 0 && value <= most;

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Value of the annotation; undefined where it would be empty. */
export const trainingNote = ({ phase, pace, pod }: JobProgress): string | undefined =>
  phase || pace || pod !== undefined ? JSON.stringify({ phase, pace, pod }) : undefined;

/** Checks the format, because `Date.parse` accepts almost anything. */
const instant = (text: string | undefined): string | undefined =>
  text !== undefined && /^\d{4}-\d\d-\d\dT\d/.test(text) ? timeOf(text) : undefined;
