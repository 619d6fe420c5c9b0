/** A question to a person: asked once, answered by an update, or by silence. */

import { condition, defineUpdate, setHandler } from '@temporalio/workflow';
import { type ApprovalRequest, updates } from '../contract/messages.ts';
import type { OperatorAnswer, Approval, Question } from '../contract/recovery-plan.ts';
import { formatDuration } from '../contract/duration.ts';
import { iso } from './attributes.ts';
import { short } from './proxies.ts';
import { validateOperatorRequest } from './operator-requests.ts';

/** Answer of the updates `approve` and `deny`; `question`: what was answered. */
interface ApprovalAnswer {
  readonly incident: string;
  readonly approved: boolean;
  readonly question?: Question;
}

interface PendingQuestion {
  readonly id: string;
  until: number;
  /** As it was asked for last: the reason may have changed meanwhile. */
  approval: Approval;
  answer?: OperatorAnswer;
  /** When another was asked in its place, ms: nobody can answer it meanwhile. */
  supersededAt?: number | undefined;
}

/** `at`: when that was decided, ms; from history, because a replay must come to the same id. */
export type Asking = Approval & { readonly at: number };

/** The questions of one recovery, each by its name; the same question asked again goes on with its first deadline. */
export class Approvals {
  private readonly questions = new Map<string, PendingQuestion>();
  /** The last that was asked, until it is answered or no longer of interest. */
  private open: PendingQuestion | undefined;

  /** Sets the handlers: to be called before the first await. */
  constructor(incident: string) {
    const answer =
      (approved: boolean) =>
      ({ by, reason }: ApprovalRequest): ApprovalAnswer => {
        const answered = { incident, approved, ...this.status() };
        if (this.open) this.open.answer = { question: this.open.id, approved, by, reason, at: iso(Date.now()) };
        this.open = undefined;
        return answered;
      };
    const validator = (request: ApprovalRequest): void => {
      validateOperatorRequest(request);
      this.requireOpen(request.question);
    };
    setHandler(defineUpdate<ApprovalAnswer, [ApprovalRequest]>(updates.approve), answer(true), { description: 'Lets the recovery go on', validator });
    setHandler(defineUpdate<ApprovalAnswer, [ApprovalRequest]>(updates.deny), answer(false), {
      description: 'Ends the recovery; nothing is stopped',
      validator,
    });
  }

  /** What is asked now. */
  status(): { readonly question?: Question } {
    if (!this.open) return {};
    const { id, until, approval } = this.open;
    return { question: { id, because: approval.because, until: iso(until), otherwise: approval.otherwise } };
  }

  /** What was said, the first first. Nothing is asked any more. */
  close(): OperatorAnswer[] {
    this.open = undefined;
    return [...this.questions.values()].flatMap(({ answer }) => answer ?? []);
  }

  denied = (): OperatorAnswer | undefined => [...this.questions.values()].find(({ answer }) => answer?.approved === false)?.answer;

  /** What was asked and waits for its answer. */
  unanswered(name: string): Approval | undefined {
    const asked = this.questions.get(name);
    return asked?.answer ? undefined : asked?.approval;
  }

  answerOf = (name: string): OperatorAnswer | undefined => this.questions.get(name)?.answer;

  /** `until`: when silence becomes an answer, ms. */
  ask(name: string, { at, ...approval }: Asking): Pick<PendingQuestion, 'id' | 'until'> & { readonly isFirst: boolean } {
    const known = this.questions.get(name);
    const asked = known ?? { id: `${name}@${iso(at)}`, until: Date.now() + approval.withinMs, approval };
    this.questions.set(name, asked);
    if (!asked.answer) {
      asked.approval = approval;
      this.putOpen(asked);
    }
    return { id: asked.id, until: asked.until, isFirst: !known };
  }

  /** Nobody could be expected to answer for so long, ms: silence says nothing of it. */
  extend(ms: number): void {
    if (this.open) this.open.until += ms;
  }

  /** What was asked is no longer of interest: asked again, it is another question. */
  drop(name: string): void {
    const question = this.questions.get(name);
    if (!question || question.answer) return;
    if (this.open === question) this.open = undefined;
    this.questions.delete(name);
  }

  /** Undefined when there is news first: the question stays, and may be answered meanwhile. */
  async wait(name: string, { because, withinMs, otherwise }: Approval, hasChanged: () => boolean): Promise<OperatorAnswer | undefined> {
    const question = this.questions.get(name);
    if (!question) throw new Error(`nobody was asked for ${name}`);
    await condition(() => question.answer !== undefined || hasChanged(), Math.max(1, question.until - Date.now()), { summary: short(`approval: ${because}`) });
    if (!question.answer && Date.now() >= question.until) {
      if (this.open === question) this.open = undefined;
      const reason = `nobody answered within ${formatDuration(withinMs)}: that means ${otherwise}`;
      question.answer = { question: question.id, approved: otherwise === 'approve', by: 'kcover', reason, at: iso(Date.now()) };
    }
    return question.answer;
  }

  private putOpen(asked: PendingQuestion): void {
    if (this.open && this.open !== asked) this.open.supersededAt = Date.now();
    if (asked.supersededAt !== undefined) asked.until += Date.now() - asked.supersededAt;
    asked.supersededAt = undefined;
    this.open = asked;
  }

  private requireOpen(id: string | undefined): void {
    if (!this.open) throw new Error('nothing is asked: this recovery waits for no approval');
    if (id === undefined || id === this.open.id) return;
    const { id: now, approval } = this.open;
    throw new Error(`${id} is not asked: what is asked now is ${now}, because ${approval.because}; to answer that one, name it as the question`);
  }
}
