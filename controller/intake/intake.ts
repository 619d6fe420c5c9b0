/** Receives reports and files of agents over HTTPS. 202 means that Temporal has them; after any other answer the agent keeps them. */

import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import {
  type Rejection,
  type ReportAnswer,
  type ReportBatch,
  reportBodyLimit,
  reportPath,
} from '../../contract/wire/reports.ts';
import { reportBatch } from '../../contract/wire/reports.schema.ts';
import { preflightPath } from '../../contract/preflight/files.ts';
import { roundsPath } from '../../contract/preflight/rounds.ts';
import { logPath } from '../../contract/progress/logs.ts';
import { progressPath } from '../../contract/progress/progress.ts';
import { restartPath } from '../../contract/progress/restart.ts';
import { trainerStatusPath } from '../../contract/progress/trainer-status.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { AgentRegistry } from './agents.ts';
import type { Authenticate } from './authenticate.ts';
import type { ServingCertificate } from './certificate.ts';
import { limitConnections, serverTimeouts } from './connections.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { guardRequests } from './request-guard.ts';
import { type FaultRates, limitFaults } from './fault-rates.ts';
import { faultMessage } from '../outbox/messages.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { type PreflightCollector, takePreflightFiles } from '../preflight/intake.ts';
import { type ProgressTaker, takeProgress } from '../progress/endpoint.ts';
import { type ExternalCollector, takeExternalReports } from '../external/endpoint.ts';
import { externalReaders } from '../external/formats.ts';
import { type AuthenticateSender, authenticateSenders } from '../external/senders.ts';
import { takeRestartAnswers } from '../progress/restart-endpoint.ts';
import { takeTrainerStatus } from '../progress/trainer-status.ts';
import { openRefusals } from './refusals.ts';
import {
  acknowledgedBy,
  firstIssue,
  newReports,
  notLeading,
  objection,
  type Refusal,
  refused,
  type ReporterIdentity,
} from './reporter.ts';
import type { NodeNotices } from '../watch/node-notices.ts';
import { openRounds } from '../preflight/rounds/endpoint.ts';
import type { Rounds } from '../preflight/rounds/polls.ts';
import { openBuckets } from './token-bucket.ts';

/** Available only to the leader. */
export interface IntakeCollector extends PreflightCollector, ExternalCollector {
  readonly progress: ProgressTaker;
  readonly rounds: Rounds;
  readonly noticeOf: NodeNotices;
}

export interface IntakeOptions {
  readonly certificate: Pick<ServingCertificate, 'read' | 'onChange'>;
  /** Tokens of agents, of preflight pods and of training pods: each for its own audience. */
  readonly authenticate: Readonly<Record<'agents' | 'preflights' | 'trainers', Authenticate>>;
  /** Programs that may report faults. */
  readonly external: ControllerSettings['external'];
  readonly limits: ControllerSettings['intake']['limits'];
  /** Undefined while this controller does not lead. */
  readonly collector: () => IntakeCollector | undefined;
  readonly agents: AgentRegistry;
  /** A node workflow may run from now on. */
  readonly onNodeFault: (node: string) => void;
  readonly metrics: Pick<
    ControllerMetrics,
    | 'reportsAccepted'
    | 'reportsRepeated'
    | 'faultsSuppressed'
    | 'rejected'
    | 'gaps'
    | 'externalReports'
    | 'preflightReports'
    | 'preflightRefused'
  >;
  readonly log: Logger;
}

/** How long Temporal may take before the agent is asked to keep its reports, ms. */
const takeWithinMs = 5000;

export function openIntake(options: IntakeOptions): FastifyInstance {
  const { authenticate, collector, limits, metrics, log } = options;
  const now = () => performance.now();
  const { connectionTimeout, keepAliveTimeout, requestTimeout, ...https } = serverTimeouts;
  const reject = openRefusals({ metrics, log, now });
  const server = fastify({
    https: { ...options.certificate.read(), minVersion: 'TLSv1.2', ...https },
    bodyLimit: reportBodyLimit,
    connectionTimeout,
    keepAliveTimeout,
    requestTimeout,
    forceCloseConnections: true,
    logger: false,
    // For malformed addresses, which no hook sees.
    frameworkErrors: (_error, _request, reply) => void reject(reply, refused('no-such-path', 'there is no such path')),
  });
  limitConnections(server.server, limits);
  options.certificate.onChange((pair) => server.server.setSecureContext(pair));
  const { reporterOf, senderOf } = guardRequests(server, {
    authenticate: {
      [reportPath]: authenticate.agents,
      [preflightPath]: authenticate.agents,
      [progressPath]: authenticate.agents,
      [logPath]: authenticate.agents,
      [roundsPath]: authenticate.preflights,
      [trainerStatusPath]: authenticate.trainers,
      [restartPath]: authenticate.trainers,
      ...externalPaths(options, now),
    },
    leading: () => collector() !== undefined,
    requests: openBuckets(limits.requests, now),
    reject,
  });
  const rates = limitFaults(limits.faults, now);

  server.post(reportPath, async (request, reply) => {
    const reporter = reporterOf(request);
    if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = reportBatch.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const batch: ReportBatch = parsed.data;
    const refusal = objection(batch, reporter);
    if (refusal) return reject(reply, refusal);
    const answer = await take(batch, reporter, rates, options);
    if (answer.kind === 'refused') return reject(reply, answer);
    const notice = collector()?.noticeOf(reporter.node);
    return reply.code(202).send({
      accepted: answer.accepted,
      follow: collector()?.progress.wantedLogs(reporter.node) ?? [],
      ...(notice && { node: notice }),
    } satisfies ReportAnswer);
  });

  takePreflightFiles(server, { ...options, reporterOf, reject });
  const progress = { progress: () => collector()?.progress, reporterOf, reject };
  takeProgress(server, progress);
  takeTrainerStatus(server, progress);
  takeRestartAnswers(server, progress);
  takeExternalReports(server, { ...options, settings: options.external, limits: limits.faults, senderOf, reject });
  openRounds(server, { rounds: () => collector()?.rounds, reporterOf, reject });

  server.setErrorHandler<FastifyError>((error, request, reply) => {
    const rejection = rejectionOf(error);
    if (rejection) return reject(reply, refused(rejection, error.message.slice(0, 200)));
    log.error({ err: error, path: request.url }, 'intake failed');
    return reply.code(500).send({ error: 'bug', because: 'see the log of the controller' });
  });
  return server;
}

/** Without senders the paths do not exist. */
function externalPaths({ external, log }: IntakeOptions, now: () => number): Record<string, AuthenticateSender> {
  if (external.senders.length === 0) return {};
  const authenticate = authenticateSenders(external.senders, { now, log });
  return Object.fromEntries(Object.keys(externalReaders).map((path) => [path, authenticate]));
}

async function take(
  batch: ReportBatch,
  reporter: ReporterIdentity,
  rates: FaultRates,
  options: IntakeOptions,
): Promise<{ kind: 'accepted'; accepted: number } | Refusal> {
  const { agents, metrics, log } = options;
  const outbox = options.collector()?.outbox;
  if (!outbox) return notLeading();
  agents.markSeen(batch);
  const before = agents.acknowledged(batch);
  const reports = newReports(batch, reporter, before);
  const { send, through, waitMs, undo } = rates.admit(reporter.node, reports);
  if (reports.length > 0 && through.length === 0)
    return refused('too-many', `${reporter.node} has reported more faults than one node may`, waitMs);
  metrics.reportsRepeated.inc(batch.reports.length - reports.length);
  if (send.length > 0) {
    options.onNodeFault(reporter.node);
    const failure = await sendAll(outbox, reporter.node, send).catch((error: unknown) => {
      undo();
      throw error;
    });
    if (failure) undo();
    // Losing the Lease ends the outbox: the agent must look for the new leader.
    if (failure) return options.collector() ? refused('temporal-unreachable', failure.because) : notLeading();
    log.info({ node: reporter.node, faults: send.map(({ id, code }) => ({ id, code })) }, 'faults accepted');
  }
  metrics.reportsAccepted.inc(through.length);
  metrics.faultsSuppressed.inc(through.length - send.length);
  reportGaps(batch, options);
  const accepted = acknowledgedBy(through, before);
  if (accepted > before) agents.acknowledge(batch, accepted);
  return { kind: 'accepted', accepted };
}

/** Sends all of them; returns the first error. */
async function sendAll(outbox: Outbox, node: string, faults: readonly Fault[]): Promise<KcoverError | undefined> {
  const sent = await Promise.allSettled(
    faults.map((fault) => outbox.send(faultMessage({ kind: 'node', node }, fault), takeWithinMs)),
  );
  const failed = sent.find((result) => result.status === 'rejected');
  if (!failed) return undefined;
  if (failed.reason instanceof KcoverError) return failed.reason;
  throw failed.reason;
}

function reportGaps({ node, gaps }: ReportBatch, { metrics, log }: IntakeOptions): void {
  if (gaps.length === 0) return;
  for (const gap of gaps) metrics.gaps.inc({ what: gap.what });
  log.warn({ node, gaps: gaps.slice(0, 10), count: gaps.length }, 'an agent reports gaps in its observation');
}

/** Errors of the HTTP layer that the sender caused. */
function rejectionOf({ statusCode }: FastifyError): Rejection | undefined {
  if (statusCode === 413) return 'too-large';
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return 'malformed';
  return undefined;
}
