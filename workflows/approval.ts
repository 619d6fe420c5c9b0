/** A question to a person: asked once, answered by an update, or by silence. */

import { condition, defineUpdate, setHandler } from '@temporalio/workflow';
import { type OperatorWish, updates } from '../contract/messages.ts';
import type { Answer, Approval } from '../contract/recovery-plan.ts';
import { formatDuration } from '../contract/duration.ts';
import { iso } from './attributes.ts';
import type { Prepared, Preparing, Step } from './preparing.ts';
import { announce, short } from './proxies.ts';
import { requireWish } from './wishes.ts';

/** Answer of the updates `approve` and `deny`. */
interface Answered {
  readonly incident: string;
  readonly approved: boolean;
}

interface Question {
  readonly until: number;
  answer?: Answer;
}

/** The questions of one recovery, each by its name; the same question asked again goes on with its first deadline. */
export class Approvals {
  private readonly questions = new Map<string, Question>();
  /** The last that was asked, until it is answered or no longer of interest. */
  private open: Question | undefined;

  /** Sets the handlers: to be called before the first await. */
  constructor(incident: string) {
    const answer =
      (approved: boolean) =>
      ({ by, reason }: OperatorWish): Answered => {
        if (this.open) this.open.answer = { approved, by, reason, at: iso(Date.now()) };
        this.open = undefined;
        return { incident, approved };
      };
    const validator = (wish: OperatorWish): void => {
      requireWish(wish);
      if (!this.open) throw new Error('nothing is asked: this recovery waits for no approval');
    };
    setHandler(defineUpdate<Answered, [OperatorWish]>(updates.approve), answer(true), { description: 'Lets the recovery go on', validator });
    setHandler(defineUpdate<Answered, [OperatorWish]>(updates.deny), answer(false), { description: 'Ends the recovery; nothing is stopped', validator });
  }

  /** What was said, the first first. */
  given = (): Answer[] => [...this.questions.values()].flatMap(({ answer }) => answer ?? []);

  answerOf = (name: string): Answer | undefined => this.questions.get(name)?.answer;

  /** When silence becomes an answer, ms; `asked` is called the first time. */
  ask(name: string, { withinMs }: Approval, asked: () => void): number {
    const known = this.questions.get(name);
    if (known) {
      if (!known.answer) this.open = known;
      return known.until;
    }
    const until = Date.now() + withinMs;
    this.open = { until };
    this.questions.set(name, this.open);
    asked();
    return until;
  }

  /** What was asked is no longer of interest: asked again, it is another question. */
  drop(name: string): void {
    const question = this.questions.get(name);
    if (!question || question.answer) return;
    if (this.open === question) this.open = undefined;
    this.questions.delete(name);
  }

  /** Undefined when there is news first: the question stays, and may be answered meanwhile. */
  async wait(name: string, { because, withinMs, otherwise }: Approval, isNews: () => boolean): Promise<Answer | undefined> {
    const question = this.questions.get(name);
    if (!question) throw new Error(`nobody was asked for ${name}`);
    await condition(() => question.answer !== undefined || isNews(), Math.max(1, question.until - Date.now()), { summary: short(`approval: ${because}`) });
    if (!question.answer && Date.now() >= question.until) {
      if (this.open === question) this.open = undefined;
      const reason = `nobody answered within ${formatDuration(withinMs)}: that means ${otherwise}`;
      question.answer = { approved: otherwise === 'approve', by: 'kcover', reason, at: iso(Date.now()) };
    }
    return question.answer;
  }
}

/** The question stands no longer; its answer does. */
const answered: Approval = { because: 'it was asked before', withinMs: 0, otherwise: 'deny' };

export const approve: Step = async (preparing, { approval }) => {
  const { approvals } = preparing;
  // Whoever said no is heard, whatever has come meanwhile.
  if (approval || approvals.answerOf('stop')) return askPerson(preparing, 'stop', approval ?? answered);
  approvals.drop('stop');
  return 'ready';
};

/** Asks once for each `name`; a refusal ends the incident. */
export async function askPerson({ input, approvals, story, event, isNews }: Preparing, name: string, approval: Approval): Promise<Prepared> {
  if (approvals.answerOf(name)?.approved) return 'ready';
  const { because, otherwise } = approval;
  const waitingFor = `kcover approve ${input.incident} --reason "...", or kcover deny; silence means ${otherwise}`;
  const until = approvals.ask(name, approval, () => {
    story.happened('approval asked', because);
    void announce(event('Warning', 'approvalAsked', `${because}; ${waitingFor}`));
  });
  story.now('waiting for approval', { because, waitingFor, until });
  const answer = await approvals.wait(name, approval, isNews);
  if (!answer) return 'look again';
  const said = `${answer.by}: ${answer.reason}`;
  story.happened(answer.approved ? 'approved' : 'denied', said);
  void announce(event(answer.approved ? 'Normal' : 'Warning', 'approvalGiven', `${answer.approved ? 'approved' : 'denied'} by ${said}`));
  return answer.approved ? 'look again' : { outcome: 'refused', because: `denied by ${said}` };
}
