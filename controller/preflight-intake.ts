/** Takes preflight files of agents, beside their reports: `taken` and `refused` mean that Temporal knows. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { KcoverError } from '../contract/errors.ts';
import {
  type PreflightAnswer,
  type PreflightFile,
  type PreflightFileAnswer,
  type PreflightFiles,
  preflightPath,
  type RefusedReport,
} from '../contract/preflight-files.ts';
import { preflightFiles } from '../contract/preflight-files.schema.ts';
import type { Delivery } from './delivery.ts';
import { type Arrival, arrivalLetter } from './letters.ts';
import type { ControllerMetrics } from './metrics.ts';
import { decideFile, type FileDecision } from './preflight/decide-file.ts';
import { mostTold, openToldMemory, type ToldMemory } from './preflight/told-memory.ts';
import type { Reject } from './refusals.ts';
import { firstIssue, notLeading, refused, type Reporter } from './reporter.ts';
import type { PreflightPod } from '../kube/preflight-pods.ts';
import type { PreflightsWatch } from './watchers/preflights.ts';

/** What only a leader has. */
export interface Collector {
  readonly delivery: Delivery;
  readonly preflights: Pick<PreflightsWatch, 'pods' | 'listensTo' | 'sees' | 'fresh' | 'share' | 'isAnnounced' | 'told'>;
}

export interface PreflightIntakeOptions {
  /** Undefined while we do not lead. */
  readonly collector: () => Collector | undefined;
  /** Who was let in. */
  readonly reporterOf: (request: FastifyRequest) => Reporter | undefined;
  readonly reject: Reject;
  readonly metrics: Pick<ControllerMetrics, 'preflightReports' | 'preflightRefused'>;
  readonly log: Logger;
}

/** How long Temporal may take before the agent is asked to send the file again, ms. */
const takeWithinMs = 5000;

/** What an answer is made with. */
interface Desk extends Collector, Pick<PreflightIntakeOptions, 'metrics' | 'log'> {
  readonly memory: ToldMemory;
}

export function takePreflightFiles(server: FastifyInstance, options: PreflightIntakeOptions): void {
  const { collector, reporterOf, reject, metrics, log } = options;
  const memory = openToldMemory(() => performance.now());
  server.post(preflightPath, async (request, reply) => {
    const reporter = reporterOf(request);
    if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = preflightFiles.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const { node, files } = parsed.data;
    if (node !== reporter.node) return reject(reply, refused('other-node', `the files are of ${node}, their sender runs on ${reporter.node}`));
    const leader = collector();
    if (!leader) return reject(reply, notLeading());
    const desk = { ...leader, memory, metrics, log };
    const answers = await Promise.all(files.map((file) => answerFile(file, parsed.data, desk)));
    // Losing the Lease ends the delivery: the agent must look for the new leader.
    if (!collector()) return reject(reply, notLeading());
    for (const { answer } of answers) metrics.preflightReports.inc({ answer });
    return reply.code(200).send({ files: answers } satisfies PreflightAnswer);
  });
}

async function answerFile(file: PreflightFile, { node, sentAt }: Pick<PreflightFiles, 'node' | 'sentAt'>, desk: Desk): Promise<PreflightFileAnswer> {
  const { preflights } = desk;
  if (!preflights.listensTo(file.namespace)) return refuse({ refused: elsewhere(file, node) }, file, desk);
  const facts = { pods: preflights.pods.at({ ...file, node }), sees: preflights.sees(file), fresh: preflights.fresh(), share: preflights.share, sentAt };
  const decision = decideFile(file, node, facts);
  switch (decision.answer) {
    case 'wait':
      return decision;
    case 'taken':
      return takeReport(decision, file, desk);
    case 'refused':
      return refuse(decision, file, desk);
  }
}

const elsewhere = ({ namespace, rank, writtenAt }: PreflightFile, node: string): RefusedReport => ({
  rank,
  node,
  what: 'namespace',
  because: `preflight.namespaces of the controller does not name ${namespace}`,
  at: writtenAt,
});

async function takeReport({ pod, report }: Extract<FileDecision, { answer: 'taken' }>, file: PreflightFile, desk: Desk): Promise<PreflightFileAnswer> {
  if (!desk.preflights.isAnnounced(pod)) return { answer: 'wait', because: 'its set of pods was not announced yet' };
  switch (desk.memory.report(pod.uid, report)) {
    case 'known':
      return { answer: 'taken' };
    case 'soon':
      return { answer: 'wait', because: 'another report of its pod came a moment ago' };
    case 'many': {
      const { rank, node } = report.report;
      const because = `${pod.name} has written ${mostTold.reports} reports already`;
      return refuse({ pod, refused: { rank, node, what: 'stale', because, at: report.writtenAt } }, file, desk);
    }
    case 'tell':
      return (await tell(pod, { report }, desk)) ?? { answer: 'taken' };
  }
}

/** The workflow of the workload hears of it, where a pod says which that is, and of so many of a pod. */
async function refuse(
  { pod, refused: told }: { readonly pod?: PreflightPod; readonly refused: RefusedReport },
  { namespace, workload }: PreflightFile,
  desk: Desk,
): Promise<PreflightFileAnswer> {
  const news = !pod || desk.memory.refusal(pod.uid, told) === 'tell';
  if (pod && news) {
    const untold = await tell(pod, { refused: told }, desk);
    if (untold) return untold;
  }
  desk.metrics.preflightRefused.inc({ reason: told.what });
  desk.log[news ? 'warn' : 'debug']({ namespace, workload, ...told }, 'a preflight report counts for nothing');
  return { answer: 'refused', because: `${told.what}: ${told.because}` };
}

/** Undefined when Temporal has it. */
async function tell(pod: PreflightPod, arrival: Arrival, { delivery, preflights, memory }: Desk): Promise<PreflightFileAnswer | undefined> {
  const what = 'report' in arrival ? arrival.report : arrival.refused;
  try {
    await delivery.send(arrivalLetter(pod.workload, arrival), takeWithinMs);
  } catch (error) {
    memory.settle(pod.uid, what, false);
    if (error instanceof KcoverError) return { answer: 'wait', because: error.because };
    throw error;
  }
  memory.settle(pod.uid, what, true);
  preflights.told(pod);
  return undefined;
}
