/** An operator's answer to a recovery that waits for approval, found by its id or by its job. The answer is for one question: a later question needs another answer. */

import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import { type ApprovalRequest, type OperatorRequest, updates } from '../../contract/wire/messages.ts';
import type { Question } from '../../contract/recovery/plan.ts';
import { clockTime } from '../program/clock.ts';
import {
  type CommandOutput,
  type CommandEntry,
  sharedOptions,
  type CommandContext,
  type Typed,
} from '../program/command.ts';
import { commandFor, notWatched } from '../clients/job-update.ts';
import { properties } from '../program/output.ts';

/** Arguments, options and exit codes that `approve` and `deny` share. */
export const approvalParts = {
  arguments: [
    {
      name: '<incident>',
      describe: 'Id of the recovery, as kcover status prints it; or its job, such as pytorchjob/llm',
    },
  ],
  options: [
    sharedOptions.reason,
    {
      flags: '--question <id>',
      describe: 'Id of the question to answer, as kcover status prints it; the open question otherwise',
    },
    sharedOptions.namespace,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  exits: ['refused', 'notFound', 'unreachable'],
} as const satisfies Partial<CommandEntry>;

/** Result of the update `approve` or `deny`. */
export interface ApprovalAnswer {
  readonly incident: string;
  readonly approved: boolean;
  readonly question: Question;
}

/** Throws `refused` when the recovery has no open question, or another one than was answered; `not-found` when no recovery is open. */
export async function answerRecovery(
  typed: Typed,
  context: CommandContext,
  update: 'approve' | 'deny',
): Promise<CommandOutput> {
  const { sendUpdate } = await import('../clients/workflows.ts');
  const { environment, session, now } = context;
  const incident = await incidentTyped(typed, context);
  const client = await session.temporal();
  const request = { by: environment.user, reason: typed.value('reason') };
  try {
    const question = typed.option('question') ?? (await questionOf(client, incident));
    const approval: ApprovalRequest = { ...request, question };
    const answer = await sendUpdate<ApprovalAnswer>(client, incident, updates[update], approval);
    return { data: { ...answer, ...request }, text: describeAnswer(answer, request, now) };
  } catch (error) {
    throw explained(error, incident);
  }
}

/** The question and the answer, as text. */
export function describeAnswer(
  { incident, approved, question }: ApprovalAnswer,
  { by, reason }: OperatorRequest,
  now: number,
): string {
  return [
    incident,
    properties([
      ['asked', question.because],
      ['question', question.id],
      ['default', `${question.otherwise}, from ${clockTime(question.until, now)} on`],
      [approved ? 'approved' : 'denied', `by ${by}: ${reason}`],
    ]),
  ].join('\n');
}

/** Id of the open question. */
async function questionOf(client: Client, incident: string): Promise<string> {
  const { statusOf } = await import('../clients/workflows.ts');
  const { phase, question } = await statusOf(client, 'recovery', incident);
  if (question) return question.id;
  if (phase === 'ended') throw new KcoverError('not-found', 'it has ended');
  throw new KcoverError('refused', 'no question is open: this recovery waits for no approval');
}

async function incidentTyped(typed: Typed, context: CommandContext): Promise<string> {
  const text = typed.argument('incident');
  if (text.startsWith('recovery/')) return text;
  const { jobTyped } = await import('./jobs.ts');
  const { statusOf } = await import('../clients/workflows.ts');
  const { ref } = await jobTyped(typed, context, 'incident');
  const client = await context.session.temporal();
  const { incident } = await statusOf(client, 'trainingJob', jobWorkflowId(ref)).catch((error: unknown) => {
    throw notWatched(error, ref);
  });
  if (incident !== undefined) return incident;
  throw new KcoverError('not-found', `no recovery of ${jobTitle(ref)} in ${ref.namespace} is open`, {
    what: 'there is nothing to answer',
    remedy: commandFor('status', ref),
  });
}

function explained(error: unknown, incident: string): unknown {
  if (!(error instanceof KcoverError)) return error;
  if (error.code === 'refused')
    return new KcoverError('refused', error.because, {
      what: 'the recovery does not wait for this answer',
      remedy: 'kcover status of its job',
    });
  if (error.code === 'not-found')
    return new KcoverError('not-found', `no recovery ${incident} is open`, {
      what: 'there is nothing to answer',
      remedy: 'kcover incidents',
    });
  return error;
}
