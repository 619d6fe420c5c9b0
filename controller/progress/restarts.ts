/** Passes the question to restart training in place on to the pods of a job, and writes their answers to the job. */

import type { JobRef } from '../../contract/job/jobs.ts';
import type { AskedRestart, RestartAnswer, RestartAnswers, RestartRequest } from '../../contract/progress/restart.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { restartLimits } from '../../contract/progress/restart.ts';
import { answersTo, withAnswer } from '../../policy/progress/restart.ts';
import type { KnownJob } from '../watch/known-jobs.ts';

export interface AskedPod {
  readonly job: KnownJob;
  readonly rank: number;
  /** RFC 3339 */
  readonly createdAt: string;
}

export interface RestartOptions {
  /** A pod of the latest attempt, by UID. */
  readonly pod: (uid: string) => AskedPod | undefined;
  /** False when the job is gone. */
  readonly write: (job: JobRef, id: string, answers: RestartAnswers) => Promise<boolean>;
  /** ms since the epoch */
  readonly now: () => number;
  /** Nothing is written after it aborts: another controller may lead by then, and have newer answers. */
  readonly signal: AbortSignal;
}

export interface Restarts {
  /** What the pod is asked now. */
  requestFor(podUid: string): RestartRequest | undefined;
  /** Resolves when the answer is on the job. False: the pod is not asked this. Throws when it is to be sent again. */
  answer(podUid: string, answer: RestartAnswer): Promise<boolean>;
  forget(jobUid: string): void;
}

/** Answers to one question: those on the job, and newer ones. */
interface Answered {
  readonly id: string;
  answers: RestartAnswers;
  /** Whether some are not on the job yet. */
  isNew: boolean;
  writing?: Promise<boolean> | undefined;
}

export function passOnRestarts({ pod, write, now, signal }: RestartOptions): Restarts {
  /** By UID of the job. */
  const jobs = new Map<string, Answered>();

  /** The question that a pod is asked, until its deadline. A pod that was created after it belongs to a later attempt. */
  function questionFor({ job, createdAt }: AskedPod): AskedRestart | undefined {
    const { optedIn, restart } = job;
    if (!optedIn || !restart || now() >= Date.parse(restart.deadline)) return undefined;
    return Date.parse(createdAt) <= Date.parse(restart.askedAt) ? restart : undefined;
  }

  function answeredOf({ ref }: KnownJob, restart: AskedRestart): Answered {
    const known = jobs.get(ref.uid);
    if (known?.id === restart.id) return known;
    const created: Answered = { id: restart.id, answers: answersTo(restart.id, restart), isNew: false };
    jobs.set(ref.uid, created);
    return created;
  }

  function requestFor(podUid: string): RestartRequest | undefined {
    const asked = pod(podUid);
    const question = asked && questionFor(asked);
    if (!question) return undefined;
    const { done, refused } = answeredOf(asked.job, question).answers;
    const { id, reason, deadline } = question;
    return refused || done.includes(asked.rank) ? undefined : { id, reason, deadline };
  }

  async function answer(podUid: string, { id, status, because = '' }: RestartAnswer): Promise<boolean> {
    const asked = pod(podUid);
    const question = asked && questionFor(asked);
    if (!question || question.id !== id) return false;
    const answered = answeredOf(asked.job, question);
    const next = withAnswer(answered.answers, asked.rank, {
      status,
      because: foreignText(because, restartLimits.because),
    });
    if (next) Object.assign(answered, { answers: next, isNew: true });
    return answered.isNew ? save(asked.job.ref, answered) : true;
  }

  /** One write at a time for each job; answers that arrive during one are in the next. */
  function save(job: JobRef, answered: Answered): Promise<boolean> {
    answered.writing ??= writeAll(job, answered);
    return answered.writing;
  }

  async function writeAll(job: JobRef, answered: Answered): Promise<boolean> {
    let exists = true;
    try {
      while (answered.isNew && exists) {
        signal.throwIfAborted();
        const { id, answers } = answered;
        exists = await write(job, id, answers);
        answered.isNew = answered.answers !== answers;
      }
      return exists;
    } finally {
      // In the same turn as the last look, so that no answer waits for a write that does not have it.
      answered.writing = undefined;
    }
  }

  return { requestFor, answer, forget: (uid) => void jobs.delete(uid) };
}
