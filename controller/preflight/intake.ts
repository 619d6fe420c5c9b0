/** Receives preflight files of agents: `taken` and `refused` mean that Temporal knows. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';
import {
  type PreflightAnswer,
  type PreflightFile,
  type PreflightFileAnswer,
  type PreflightFiles,
  preflightPath,
  type RefusedReport,
} from '../../contract/preflight/files.ts';
import { preflightFiles } from '../../contract/preflight/files.schema.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { type PreflightArrival, arrivalMessage } from '../outbox/messages.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { decideFile, type FileDecision } from './decide-file.ts';
import { admissionLimits, openReportAdmission, type ReportAdmission } from './report-admission.ts';
import type { Reject } from '../intake/refusals.ts';
import { firstIssue, notLeading, refused, type ReporterIdentity } from '../intake/reporter.ts';
import type { PreflightPod } from '../../kube/pods/preflight-pods.ts';
import type { PreflightsWatch } from '../watch/preflights.ts';

/** Available only to the leader. */
export interface PreflightCollector {
  readonly outbox: Outbox;
  readonly preflights: Pick<
    PreflightsWatch,
    'pods' | 'acceptsNamespace' | 'isUpToDate' | 'fresh' | 'share' | 'isAnnounced' | 'notified'
  >;
}

export interface PreflightIntakeOptions {
  /** Undefined while this controller does not lead. */
  readonly collector: () => PreflightCollector | undefined;
  /** The authenticated sender. */
  readonly reporterOf: (request: FastifyRequest) => ReporterIdentity | undefined;
  readonly reject: Reject;
  readonly metrics: Pick<ControllerMetrics, 'preflightReports' | 'preflightRefused'>;
  readonly log: Logger;
}

/** How long Temporal may take before the agent is asked to send the file again, ms. */
const takeWithinMs = 5000;

/** What an answer depends on. */
interface PreflightContext extends PreflightCollector, Pick<PreflightIntakeOptions, 'metrics' | 'log'> {
  readonly admission: ReportAdmission;
}

export function takePreflightFiles(server: FastifyInstance, options: PreflightIntakeOptions): void {
  const { collector, reporterOf, reject, metrics, log } = options;
  const admission = openReportAdmission(() => performance.now());
  server.post(preflightPath, async (request, reply) => {
    const reporter = reporterOf(request);
    if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = preflightFiles.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const { node, files } = parsed.data;
    if (node !== reporter.node)
      return reject(reply, refused('other-node', `the files are of ${node}, their sender runs on ${reporter.node}`));
    const leader = collector();
    if (!leader) return reject(reply, notLeading());
    const context = { ...leader, admission, metrics, log };
    const answers = await Promise.all(files.map((file) => answerFile(file, parsed.data, context)));
    // Losing the Lease ends the outbox: the agent must look for the new leader.
    if (!collector()) return reject(reply, notLeading());
    for (const { answer } of answers) metrics.preflightReports.inc({ answer });
    return reply.code(200).send({ files: answers } satisfies PreflightAnswer);
  });
}

async function answerFile(
  file: PreflightFile,
  { node, sentAt }: Pick<PreflightFiles, 'node' | 'sentAt'>,
  context: PreflightContext,
): Promise<PreflightFileAnswer> {
  const { preflights } = context;
  if (!preflights.acceptsNamespace(file.namespace)) return refuse({ refused: elsewhere(file, node) }, file, context);
  const facts = {
    pods: preflights.pods.at({ ...file, node }),
    isUpToDate: preflights.isUpToDate(file),
    fresh: preflights.fresh(),
    share: preflights.share,
    sentAt,
  };
  const decision = decideFile(file, node, facts);
  switch (decision.answer) {
    case 'wait':
      return decision;
    case 'accepted':
      return takeReport(decision, file, context);
    case 'refused':
      return refuse(decision, file, context);
  }
}

const elsewhere = ({ namespace, rank, writtenAt }: PreflightFile, node: string): RefusedReport => ({
  rank,
  node,
  what: 'namespace',
  because: `preflight.namespaces of the controller does not name ${namespace}`,
  at: writtenAt,
});

async function takeReport(
  { pod, report }: Extract<FileDecision, { answer: 'accepted' }>,
  file: PreflightFile,
  context: PreflightContext,
): Promise<PreflightFileAnswer> {
  if (!context.preflights.isAnnounced(pod)) return { answer: 'wait', because: 'its set of pods was not announced yet' };
  switch (context.admission.report(pod.uid, report)) {
    case 'known':
      return { answer: 'accepted' };
    case 'soon':
      return { answer: 'wait', because: 'another report of its pod came a moment ago' };
    case 'many': {
      const { rank, node } = report.report;
      const because = `${pod.name} has written ${admissionLimits.reports} reports already`;
      return refuse({ pod, refused: { rank, node, what: 'stale', because, at: report.writtenAt } }, file, context);
    }
    case 'send':
      return (await notify(pod, { report }, context)) ?? { answer: 'accepted' };
  }
}

/** Notifies the workflow of the workload, if a pod identifies it; a limited number of refusals for each pod. */
async function refuse(
  { pod, refused: refusal }: { readonly pod?: PreflightPod; readonly refused: RefusedReport },
  { namespace, workload }: PreflightFile,
  context: PreflightContext,
): Promise<PreflightFileAnswer> {
  const isNew = !pod || context.admission.refusal(pod.uid, refusal) === 'send';
  if (pod && isNew) {
    const failure = await notify(pod, { refused: refusal }, context);
    if (failure) return failure;
  }
  context.metrics.preflightRefused.inc({ reason: refusal.what });
  context.log[isNew ? 'warn' : 'debug']({ namespace, workload, ...refusal }, 'preflight report rejected');
  return { answer: 'refused', because: `${refusal.what}: ${refusal.because}` };
}

/** Undefined when Temporal has it. */
async function notify(
  pod: PreflightPod,
  arrival: PreflightArrival,
  { outbox, preflights, admission }: PreflightContext,
): Promise<PreflightFileAnswer | undefined> {
  const what = 'report' in arrival ? arrival.report : arrival.refused;
  try {
    await outbox.send(arrivalMessage(pod.workload, arrival), takeWithinMs);
  } catch (error) {
    admission.settle(pod.uid, what, false);
    if (error instanceof KcoverError) return { answer: 'wait', because: error.because };
    throw error;
  }
  admission.settle(pod.uid, what, true);
  preflights.notified(pod);
  return undefined;
}
