/** Reads the progress file of a trainer. Unknown fields are ignored, `null` counts as absent. */

import { type Progress, type ProgressPhase, progressPhases } from '../../contract/progress/progress.ts';

/** `json`: it may be half-written. `content`: it is unusable for good. */
export type ReadProgress =
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'unusable'; readonly what: 'json' | 'content'; readonly because: string };

class Unusable extends Error {}

type Fields = Readonly<Record<string, unknown>>;

/** Times of the result are UTC with ms. The caller bounds the length of the text. */
export function readProgress(text: string): ReadProgress {
  const value = parsed(text);
  if (value === undefined) return { kind: 'unusable', what: 'json', because: 'it is not JSON' };
  try {
    return { kind: 'progress', progress: progressIn(value) };
  } catch (error) {
    if (error instanceof Unusable) return { kind: 'unusable', what: 'content', because: error.message };
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function progressIn(value: unknown): Progress {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Unusable('it is not a JSON object');
  const fields: Fields = { ...value };
  const [checkpointStep, checkpointAt, phase] = [
    stepIn(fields, 'checkpointStep'),
    timeIn(fields, 'checkpointAt'),
    phaseIn(fields),
  ];
  return {
    step: required('step', stepIn(fields, 'step')),
    ...(checkpointStep !== undefined && { checkpointStep }),
    ...(checkpointAt !== undefined && { checkpointAt }),
    at: required('at', timeIn(fields, 'at')),
    ...(phase !== undefined && { phase }),
  };
}

function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new Unusable(`${name} is missing`);
  return value;
}

function stepIn(fields: Fields, name: 'step' | 'checkpointStep'): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new Unusable(`${name} is not an integer from 0`);
  return value;
}

/** RFC 3339 as `Date` parses it: up to 9 fraction digits, and a zone. */
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

function timeIn(fields: Fields, name: 'at' | 'checkpointAt'): string | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  const time = typeof value === 'string' && rfc3339.test(value) ? Date.parse(value) : NaN;
  // A zone offset can lead beyond the years of the format.
  if (Number.isNaN(time) || time < Date.parse('0000-01-01T00:00:00Z') || time > Date.parse('9999-12-31T23:59:59.999Z'))
    throw new Unusable(`${name} is not a time with a zone, such as 2026-11-21T07:09:03Z`);
  return new Date(time).toISOString();
}

function phaseIn({ phase }: Fields): ProgressPhase | undefined {
  if ((phase ?? undefined) === undefined) return undefined;
  const known = progressPhases.find((each) => each === phase);
  if (known === undefined) throw new Unusable(`phase is none of ${progressPhases.join(', ')}`);
  return known;
}
