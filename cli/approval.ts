/** A person's answer to a recovery that asks: by its id, or by the job that it is about. */

import { KcoverError } from '../contract/errors.ts';
import { jobWorkflowId } from '../contract/ids.ts';
import { jobTitle } from '../contract/jobs.ts';
import { updates } from '../contract/messages.ts';
import { type CommandEntry, sharedOptions, type Surroundings, type Typed } from './command.ts';
import { commandFor, notWatched } from './job-wish.ts';
import type { Answer } from './output.ts';

/** Arguments, options and endings that both answers share. */
export const approvalParts = {
  arguments: [{ name: '<incident>', describe: 'Id of the recovery, as kcover status prints it; or its job, such as pytorchjob/llm' }],
  options: [sharedOptions.reason, sharedOptions.namespace, sharedOptions.kubeconfig, sharedOptions.output],
  exits: ['refused', 'notFound', 'unreachable'],
} as const satisfies Partial<CommandEntry>;

interface ApprovalAnswer {
  readonly incident: string;
  readonly approved: boolean;
}

/** Throws `refused` when the recovery asks nothing, `not-found` when none is open. */
export async function answerRecovery(typed: Typed, surroundings: Surroundings, update: 'approve' | 'deny'): Promise<Answer> {
  const { wish } = await import('./workflows.ts');
  const { environment, session } = surroundings;
  const incident = await incidentTyped(typed, surroundings);
  const client = await session.temporal();
  const said = { by: environment.user, reason: typed.value('reason') };
  const answer = await wish<ApprovalAnswer>(client, incident, updates[update], said).catch((error: unknown) => {
    throw explained(error, incident);
  });
  return {
    data: { ...answer, ...said },
    text: `${answer.incident}: ${answer.approved ? 'approved' : 'denied'} by ${said.by}: ${said.reason}`,
  };
}

async function incidentTyped(typed: Typed, surroundings: Surroundings): Promise<string> {
  const text = typed.argument('incident');
  if (text.startsWith('recovery/')) return text;
  const { jobTyped } = await import('./jobs.ts');
  const { statusOf } = await import('./workflows.ts');
  const { ref } = await jobTyped(typed, surroundings, 'incident');
  const client = await surroundings.session.temporal();
  const { incident } = await statusOf(client, 'trainingJob', jobWorkflowId(ref)).catch((error: unknown) => {
    throw notWatched(error, ref);
  });
  if (incident !== undefined) return incident;
  throw new KcoverError('not-found', `no recovery of ${jobTitle(ref)} in ${ref.namespace} is open`, {
    what: 'there is nothing to answer',
    try: commandFor('status', ref),
  });
}

function explained(error: unknown, incident: string): unknown {
  if (!(error instanceof KcoverError)) return error;
  if (error.code === 'refused') return new KcoverError('refused', error.because, { what: 'nobody waits for this answer', try: 'kcover status of its job' });
  if (error.code === 'not-found')
    return new KcoverError('not-found', `no recovery ${incident} is open`, { what: 'there is nothing to answer', try: 'kcover incidents' });
  return error;
}
