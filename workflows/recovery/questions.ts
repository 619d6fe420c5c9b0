/** Questions to a person: each is asked once, and answered by an update or, after its deadline, by the default answer. Pure. */

import { formatDuration, iso } from '../../contract/settings/duration.ts';
import type { Approval, OperatorAnswer, Question } from '../../contract/recovery/plan.ts';

export interface AskedQuestion {
  /** What it is about: `stop`, `capacity`. */
  readonly name: string;
  readonly id: string;
  /** When the default answer applies, ms. */
  readonly until: number;
  /** As asked most recently: the reason may have changed since the first time. */
  readonly approval: Approval;
  readonly answer?: OperatorAnswer | undefined;
  /** When another question replaced it, ms: it cannot be answered meanwhile. */
  readonly supersededAt?: number | undefined;
}

export interface Questions {
  readonly asked: readonly AskedQuestion[];
  /** Name of the question that was asked last, until it is answered or dropped. */
  readonly open?: string | undefined;
}

/** `at`: when it was decided, ms; from history, so that a replay derives the same id. */
export type Asking = Approval & { readonly at: number };

export type GivenAnswer = Pick<OperatorAnswer, 'approved' | 'by' | 'reason'>;

export const noQuestions: Questions = { asked: [] };

export const questionOf = ({ asked }: Questions, name: string): AskedQuestion | undefined =>
  asked.find((one) => one.name === name);

export const openOne = (questions: Questions): AskedQuestion | undefined =>
  questions.open === undefined ? undefined : questionOf(questions, questions.open);

export const answerOf = (questions: Questions, name: string): OperatorAnswer | undefined =>
  questionOf(questions, name)?.answer;

/** The question of this name, as long as it has no answer. */
export function unanswered(questions: Questions, name: string): Approval | undefined {
  const question = questionOf(questions, name);
  return question?.answer ? undefined : question?.approval;
}

/** All answers so far. */
export const answersOf = ({ asked }: Questions): OperatorAnswer[] => asked.flatMap(({ answer }) => answer ?? []);

export const denialOf = (questions: Questions): OperatorAnswer | undefined =>
  answersOf(questions).find(({ approved }) => !approved);

/** The open question, for the status. */
export function openQuestion(questions: Questions): { readonly question?: Question } {
  const question = openOne(questions);
  if (!question) return {};
  const { id, until, approval } = question;
  return { question: { id, because: approval.because, until: iso(until), otherwise: approval.otherwise } };
}

/** Asks, or asks again. A question that is asked again keeps its first deadline, less the time in which another had replaced it. */
export function ask(questions: Questions, name: string, { at, ...approval }: Asking, now: number): Questions {
  const known = questionOf(questions, name);
  if (known?.answer) return questions;
  const { supersededAt, ...question } = known ?? { name, id: `${name}@${iso(at)}`, until: now + approval.withinMs };
  const superseded = supersededAt === undefined ? 0 : now - supersededAt;
  const others = questions.asked.map((one) =>
    one.name === questions.open && one.name !== name ? { ...one, supersededAt: now } : one,
  );
  return { open: name, asked: put(others, { ...question, until: question.until + superseded, approval }) };
}

/** Answers the open question. */
export function answer(questions: Questions, given: GivenAnswer, now: number): Questions {
  const question = openOne(questions);
  return question ? { asked: put(questions.asked, withAnswer(question, given, now)) } : questions;
}

/** The default answer applies, once its deadline has passed and no person has answered. */
export function expire(questions: Questions, name: string, now: number): Questions {
  const question = questionOf(questions, name);
  if (!question || question.answer || now < question.until) return questions;
  const { withinMs, otherwise } = question.approval;
  const reason = `no person answered within ${formatDuration(withinMs)}: the settings then ${otherwise}`;
  const asked = put(
    questions.asked,
    withAnswer(question, { approved: otherwise === 'approve', by: 'kcover', reason }, now),
  );
  return { asked, ...(questions.open !== name && { open: questions.open }) };
}

/** Moves the deadline by a time in which no person could be expected to answer, ms. */
export function extend(questions: Questions, ms: number): Questions {
  const question = openOne(questions);
  return question && ms > 0
    ? { ...questions, asked: put(questions.asked, { ...question, until: question.until + ms }) }
    : questions;
}

/** Drops a question that no longer matters: asked again, it is a new question. */
export function drop(questions: Questions, name: string): Questions {
  const question = questionOf(questions, name);
  if (!question || question.answer) return questions;
  return {
    asked: questions.asked.filter((one) => one !== question),
    ...(questions.open !== name && { open: questions.open }),
  };
}

/** Throws where this question, or any where none is named, cannot be answered now. */
export function requireOpen(questions: Questions, id: string | undefined): void {
  const open = openOne(questions);
  if (!open) throw new Error('no question is open: this recovery waits for no approval');
  if (id === undefined || id === open.id) return;
  throw new Error(
    `${id} is not open: the open question is ${open.id}, because ${open.approval.because}; to answer it, name it as the question`,
  );
}

const withAnswer = (question: AskedQuestion, { approved, by, reason }: GivenAnswer, now: number): AskedQuestion => ({
  ...question,
  answer: { question: question.id, approved, by, reason, at: iso(now) },
});

const put = (asked: readonly AskedQuestion[], question: AskedQuestion): readonly AskedQuestion[] =>
  asked.some(({ name }) => name === question.name)
    ? asked.map((one) => (one.name === question.name ? question : one))
    : [...asked, question];
