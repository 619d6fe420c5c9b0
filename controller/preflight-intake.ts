/** Takes preflight files of agents, beside their reports: `taken` and `refused` mean that Temporal knows. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { KcoverError } from '../contract/errors.ts';
import { type PreflightAnswer, type PreflightFile, type PreflightFileAnswer, preflightPath } from '../contract/preflight.ts';
import { preflightFiles } from '../contract/preflight.schema.ts';
import type { Delivery } from './delivery.ts';
import { arrivalLetter } from './letters.ts';
import type { ControllerMetrics } from './metrics.ts';
import { decideFile, type FileDecision } from './preflight/decide-file.ts';
import { firstIssue, notLeading, type Refusal, refused, type Reporter } from './reporter.ts';
import type { PreflightsWatch } from './watchers/preflights.ts';

/** What only a leader has. */
export interface Collector {
  readonly delivery: Delivery;
  readonly preflights: Pick<PreflightsWatch, 'pods' | 'sees' | 'told'>;
}

export interface PreflightIntakeOptions {
  /** Undefined while we do not lead. */
  readonly collector: () => Collector | undefined;
  /** Who was let in. */
  readonly reporterOf: (request: FastifyRequest) => Reporter | undefined;
  readonly reject: (reply: FastifyReply, refusal: Refusal) => FastifyReply;
  readonly metrics: Pick<ControllerMetrics, 'preflightReports' | 'preflightRefused'>;
  readonly log: Logger;
}

/** How long Temporal may take before the agent is asked to send the file again, ms. */
const takeWithinMs = 5000;

export function takePreflightFiles(server: FastifyInstance, options: PreflightIntakeOptions): void {
  const { collector, reporterOf, reject, metrics } = options;
  server.post(preflightPath, async (request, reply) => {
    const reporter = reporterOf(request);
    if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = preflightFiles.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const { node, files } = parsed.data;
    if (node !== reporter.node) return reject(reply, refused('other-node', `the files are of ${node}, their sender runs on ${reporter.node}`));
    const leader = collector();
    if (!leader) return reject(reply, notLeading());
    const answers = await Promise.all(files.map((file) => answerFile(file, node, leader, options)));
    // Losing the Lease ends the delivery: the agent must look for the new leader.
    if (!collector()) return reject(reply, notLeading());
    for (const { answer } of answers) metrics.preflightReports.inc({ answer });
    return reply.code(200).send({ files: answers } satisfies PreflightAnswer);
  });
}

async function answerFile(
  file: PreflightFile,
  node: string,
  { delivery, preflights }: Collector,
  options: PreflightIntakeOptions,
): Promise<PreflightFileAnswer> {
  const facts = { pods: preflights.pods.at({ ...file, node }), sees: preflights.sees(file), now: Date.now() };
  const decision = decideFile(file, node, facts);
  if (decision.answer === 'wait') return decision;
  const untold = await tell(decision, delivery);
  if (untold) return { answer: 'wait', because: untold.because };
  if (decision.pod) preflights.told(decision.pod);
  return decision.answer === 'taken' ? { answer: 'taken' } : tellRefusal(file, decision, options);
}

/** Undefined when Temporal has it, or there is no workload to tell. */
async function tell(decision: Exclude<FileDecision, { answer: 'wait' }>, delivery: Delivery): Promise<KcoverError | undefined> {
  const { pod } = decision;
  if (!pod) return undefined;
  const arrival = decision.answer === 'taken' ? { report: decision.report } : { refused: decision.refused };
  try {
    await delivery.send(arrivalLetter(pod.workload, arrival), takeWithinMs);
    return undefined;
  } catch (error) {
    if (error instanceof KcoverError) return error;
    throw error;
  }
}

function tellRefusal(
  { namespace, workload }: PreflightFile,
  { refused: told }: Extract<FileDecision, { answer: 'refused' }>,
  { metrics, log }: PreflightIntakeOptions,
): PreflightFileAnswer {
  metrics.preflightRefused.inc({ reason: told.what });
  log.warn({ namespace, workload, ...told }, 'a preflight report counts for nothing');
  return { answer: 'refused', because: `${told.what}: ${told.because}` };
}
