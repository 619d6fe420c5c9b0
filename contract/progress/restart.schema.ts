/** Bodies and annotations of a restart inside processes. Tenants write both, so everything is bounded. */

import { z } from 'zod';
import { oneLine } from '../text.ts';
import { type AskedRestart, type RestartAnswers, restartLimits, restartStatuses } from './restart.ts';

const id = z.string().min(1).max(restartLimits.id);
const line = (most: number) =>
  z
    .string()
    .max(most * 8)
    .transform((text) => oneLine(text, most));

export const restartAnswer = z.object({
  id,
  status: z.enum(restartStatuses),
  because: line(restartLimits.because).optional(),
});

const rank = z.int().min(0).max(restartLimits.rank);
const ranks = z.array(rank).max(restartLimits.ranks);
const askedRestart = z.object({
  id,
  reason: line(restartLimits.reason),
  askedAt: z.iso.datetime(),
  deadline: z.iso.datetime(),
});
const restartAnswers = z.object({
  id,
  accepted: ranks,
  done: ranks,
  refused: z.object({ rank, because: line(restartLimits.because) }).optional(),
});

/** Characters of an annotation that is read. */
const noteLength = 20_000;

/** The question in the annotations of a job, with the answers to it. Undefined without one. */
export function parseRestart(asked: string | undefined, answers: string | undefined): AskedRestart | undefined {
  const question = askedRestart.safeParse(fromJson(asked)).data;
  const given = restartAnswers.safeParse(fromJson(answers)).data;
  if (!question) return undefined;
  const { id: answered, ...rest } = given ?? {};
  return answered === question.id ? { ...question, answers: rest as RestartAnswers } : question;
}

function fromJson(text: string | undefined): unknown {
  try {
    return text === undefined || text.length > noteLength ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
