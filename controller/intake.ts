/** Takes reports and files of agents over HTTPS. 202 means that Temporal has them; anything else, that the agent keeps them. */

import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { KcoverError } from '../contract/errors.ts';
import type { Fault } from '../contract/faults.ts';
import { type Rejection, rejections, type ReportAnswer, type ReportBatch, reportBodyLimit, reportPath } from '../contract/reports.ts';
import { reportBatch } from '../contract/reports.schema.ts';
import { preflightPath } from '../contract/preflight-files.ts';
import { progressPath } from '../contract/progress.ts';
import type { Agents } from './agents.ts';
import type { Authenticate } from './authenticate.ts';
import type { Certificate } from './certificate.ts';
import type { Delivery } from './delivery.ts';
import { faultLetter } from './letters.ts';
import type { ControllerMetrics } from './metrics.ts';
import { type Collector as PreflightCollector, takePreflightFiles } from './preflight-intake.ts';
import { type ProgressTaker, takeProgress } from './progress/endpoint.ts';
import { acknowledgedBy, firstIssue, newFaults, notLeading, objection, type Refusal, refused, type Reporter } from './reporter.ts';

/** What only a leader has. */
export interface Collector extends PreflightCollector {
  readonly progress: ProgressTaker;
}

export interface IntakeOptions {
  readonly certificate: Certificate;
  readonly authenticate: Authenticate;
  /** Undefined while we do not lead. */
  readonly collector: () => Collector | undefined;
  readonly agents: Agents;
  /** A node workflow may run from now on. */
  readonly onNodeFault: (node: string) => void;
  readonly metrics: Pick<ControllerMetrics, 'reportsAccepted' | 'reportsRepeated' | 'rejected' | 'gaps' | 'preflightReports' | 'preflightRefused'>;
  readonly log: Logger;
}

/** What agents may send to. */
const agentPaths: readonly (string | undefined)[] = [reportPath, preflightPath, progressPath];

/** How long Temporal may take before the agent is asked to keep its reports, ms. */
const takeWithinMs = 5000;

export function openIntake(options: IntakeOptions): FastifyInstance {
  const { metrics, log } = options;
  const server = fastify({
    https: { ...options.certificate.read(), minVersion: 'TLSv1.2' },
    bodyLimit: reportBodyLimit,
    requestTimeout: 15_000,
    forceCloseConnections: true,
    logger: false,
  });
  options.certificate.onChange((pair) => server.server.setSecureContext(pair));
  const reporters = new WeakMap<FastifyRequest, Reporter>();

  function reject(reply: FastifyReply, { rejection, because }: Refusal): FastifyReply {
    metrics.rejected.inc({ reason: rejection });
    const level = rejections[rejection] >= 500 ? 'debug' : 'warn';
    log[level]({ rejection, because, from: reply.request.ip }, 'report rejected');
    // A standby must not keep the agent: its next connection may reach the leader.
    if (rejection === 'not-leading') reply.header('connection', 'close');
    return reply.code(rejections[rejection]).send({ error: rejection, because });
  }

  // Before the body is read: who may not report cannot make us parse anything.
  server.addHook('onRequest', async (request, reply) => {
    if (!agentPaths.includes(request.routeOptions.url)) return undefined;
    if (!options.collector()) return reject(reply, notLeading());
    const answer = await options.authenticate(request.headers.authorization);
    if (answer.kind === 'refused') return reject(reply, answer);
    reporters.set(request, answer);
    return undefined;
  });

  server.post(reportPath, async (request, reply) => {
    const reporter = reporters.get(request);
    if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = reportBatch.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const batch: ReportBatch = parsed.data;
    const refusal = objection(batch, reporter);
    if (refusal) return reject(reply, refusal);
    const answer = await take(batch, reporter, options);
    return answer.kind === 'refused' ? reject(reply, answer) : reply.code(202).send({ accepted: answer.accepted } satisfies ReportAnswer);
  });

  const reporterOf = (request: FastifyRequest) => reporters.get(request);
  takePreflightFiles(server, { ...options, reporterOf, reject });
  takeProgress(server, { progress: () => options.collector()?.progress, reporterOf, reject });

  server.setErrorHandler<FastifyError>((error, request, reply) => {
    const rejection = rejectionOf(error);
    if (rejection) return reject(reply, refused(rejection, error.message.slice(0, 200)));
    log.error({ err: error, path: request.url }, 'intake failed');
    return reply.code(500).send({ error: 'bug', because: 'see the log of the controller' });
  });
  return server;
}

async function take(batch: ReportBatch, reporter: Reporter, options: IntakeOptions): Promise<{ kind: 'taken'; accepted: number } | Refusal> {
  const { agents, metrics, log } = options;
  const delivery = options.collector()?.delivery;
  if (!delivery) return notLeading();
  agents.heard(batch);
  const before = agents.acknowledged(batch);
  const faults = newFaults(batch, reporter, before);
  metrics.reportsRepeated.inc(batch.reports.length - faults.length);
  if (faults.length > 0) {
    options.onNodeFault(reporter.node);
    const failure = await sendAll(delivery, reporter.node, faults);
    // Losing the Lease ends the delivery: the agent must look for the new leader.
    if (failure) return options.collector() ? refused('temporal-unreachable', failure.because) : notLeading();
    log.info({ node: reporter.node, faults: faults.map(({ id, code }) => ({ id, code })) }, 'faults accepted');
  }
  metrics.reportsAccepted.inc(faults.length);
  tellGaps(batch, options);
  const accepted = acknowledgedBy(batch, before);
  if (accepted > before) agents.acknowledge(batch, accepted);
  return { kind: 'taken', accepted };
}

/** All of them, or the first reason why not. */
async function sendAll(delivery: Delivery, node: string, faults: readonly Fault[]): Promise<KcoverError | undefined> {
  const sent = await Promise.allSettled(faults.map((fault) => delivery.send(faultLetter({ kind: 'node', node }, fault), takeWithinMs)));
  const failed = sent.find((result) => result.status === 'rejected');
  if (!failed) return undefined;
  if (failed.reason instanceof KcoverError) return failed.reason;
  throw failed.reason;
}

function tellGaps({ node, gaps }: ReportBatch, { metrics, log }: IntakeOptions): void {
  for (const gap of gaps) {
    metrics.gaps.inc({ what: gap.what });
    log.warn({ node, ...gap }, 'an agent missed something');
  }
}

/** Errors of the HTTP layer that are the sender's. */
function rejectionOf({ statusCode }: FastifyError): Rejection | undefined {
  if (statusCode === 413) return 'too-large';
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return 'malformed';
  return undefined;
}
