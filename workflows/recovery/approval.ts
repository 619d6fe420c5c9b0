/** A question to a person: asked once, answered by an update or, after its deadline, by the default answer. */

import { condition, defineUpdate, setHandler } from '@temporalio/workflow';
import { type ApprovalRequest, updates } from '../../contract/messages.ts';
import type { OperatorAnswer, Approval, Question } from '../../contract/recovery-plan.ts';
import { formatDuration } from '../../contract/duration.ts';
import { iso } from '../attributes.ts';
import { short } from '../proxies.ts';
import { validateOperatorRequest } from '../operator-requests.ts';

/** Answer of the updates `approve` and `deny`; `question`: what was answered. */
interface ApprovalAnswer {
  readonly incident: string;
  readonly approved: boolean;
  readonly question?: Question;
}

interface PendingQuestion {
  readonly id: string;
  until: number;
  /** As asked most recently: the reason may have changed since the first time. */
  approval: Approval;
  answer?: OperatorAnswer;
  /** When another question replaced it, ms: it cannot be answered meanwhile. */
  supersededAt?: number | undefined;
}

/** `at`: when it was decided, ms; from history, so that a replay derives the same id. */
export type Asking = Approval & { readonly at: number };

/** The questions of one recovery, by name. A question that is asked again keeps its first deadline. */
export class Approvals {
  private readonly questions = new Map<string, PendingQuestion>();
  /** The question asked last, until it is answered or dropped. */
  private open: PendingQuestion | undefined;

  /** Sets the update handlers: call it before the first await. */
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

  /** The open question. */
  status(): { readonly question?: Question } {
    if (!this.open) return {};
    const { id, until, approval } = this.open;
    return { question: { id, because: approval.because, until: iso(until), otherwise: approval.otherwise } };
  }

  /** All answers so far. No question is open afterwards. */
  close(): OperatorAnswer[] {
    this.open = undefined;
    return [...this.questions.values()].flatMap(({ answer }) => answer ?? []);
  }

  denied = (): OperatorAnswer | undefined => [...this.questions.values()].find(({ answer }) => answer?.approved === false)?.answer;

  /** The question of this name, as long as it has no answer. */
  unanswered(name: string): Approval | undefined {
    const asked = this.questions.get(name);
    return asked?.answer ? undefined : asked?.approval;
  }

  answerOf = (name: string): OperatorAnswer | undefined => this.questions.get(name)?.answer;

  /** `until`: when the default answer applies, ms. */
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

  /** Moves the deadline by a time in which nobody could be expected to answer, ms. */
  extend(ms: number): void {
    if (this.open) this.open.until += ms;
  }

  /** Drops a question that no longer matters: asked again, it is a new question. */
  drop(name: string): void {
    const question = this.questions.get(name);
    if (!question || question.answer) return;
    if (this.open === question) this.open = undefined;
    this.questions.delete(name);
  }

  /** Undefined when something changed first: the question stays open, and may still be answered. */
  async wait(name: string, { because, withinMs, otherwise }: Approval, hasChanged: () => boolean): Promise<OperatorAnswer | undefined> {
    const question = this.questions.get(name);
    if (!question) throw new Error(`no question was asked for ${name}`);
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
    if (!this.open) throw new Error('no question is open: this recovery waits for no approval');
    if (id === undefined || id === this.open.id) return;
    const { id: now, approval } = this.open;
    throw new Error(`${id} is not open: the open question is ${now}, because ${approval.because}; to answer it, name it as the question`);
  }
}
