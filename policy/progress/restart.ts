/** Answers of ranks to the question to restart training in their processes. Pure. */

import {
  type AskedRestart,
  noAnswers,
  type RestartAnswer,
  type RestartAnswers,
  restartLimits,
} from '../../contract/progress/restart.ts';

/** The answers to the question with this id. */
export const answersTo = (id: string | undefined, restart: AskedRestart | undefined): RestartAnswers =>
  (restart?.id === id && restart?.answers) || noAnswers;

/** Undefined where it changes nothing, or there are too many to note. */
export function withAnswer(
  answers: RestartAnswers,
  rank: number,
  { status, because = '' }: Pick<RestartAnswer, 'status' | 'because'>,
): RestartAnswers | undefined {
  const { accepted, done, refused } = answers;
  if (refused || done.includes(rank)) return undefined;
  if (status === 'refused') return { ...answers, refused: { rank, because } };
  if (accepted.length + done.length >= restartLimits.ranks) return undefined;
  if (status === 'done') return { accepted: accepted.filter((one) => one !== rank), done: [...done, rank] };
  return accepted.includes(rank) ? undefined : { accepted: [...accepted, rank], done };
}

export function answersInWords({ accepted, done, refused }: RestartAnswers): string {
  if (refused) return `rank ${refused.rank} refused: ${refused.because || 'it gave no reason'}`;
  if (accepted.length + done.length === 0) return 'no rank has answered';
  const agreed = `${ranksOf(accepted.length + done.length)} accepted`;
  return done.length === 0 ? `${agreed}, none is done` : `${agreed}, ${done.length} of them done`;
}

const ranksOf = (count: number): string => (count === 1 ? '1 rank' : `${count} ranks`);
