/** `POST /v1/external`: faults that other programs report. 202 means that Temporal has them. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';
import { type ExternalAnswer, type UnusableReport } from '../../contract/wire/external.ts';
import type { ExternalSender } from '../../contract/settings/external.schema.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import { oneLine } from '../../contract/text.ts';
import type { MappedReports } from '../../faults/external/report.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { faultMessage, recoveredMessage } from '../outbox/messages.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { openRecent, type Recent } from '../recent.ts';
import type { Reject } from '../intake/refusals.ts';
import { notLeading, type Refusal, refused } from '../intake/reporter.ts';
import { type Buckets, openBuckets } from '../intake/token-bucket.ts';
import type { NodesWatch } from '../watch/nodes.ts';
import { externalReaders } from './formats.ts';
import { judgeReport, type ReportVerdict } from './judge-report.ts';
import type { SenderIdentity } from './senders.ts';

/** Available only to the leader. */
export interface ExternalCollector {
  readonly outbox: Outbox;
  readonly nodes: Pick<NodesWatch, 'has'>;
}

export interface ExternalEndpoint {
  readonly settings: ControllerSettings['external'];
  readonly limits: ControllerSettings['intake']['limits']['faults'];
  /** Undefined while this controller does not lead. */
  readonly collector: () => ExternalCollector | undefined;
  readonly senderOf: (request: FastifyRequest) => SenderIdentity | undefined;
  readonly reject: Reject;
  /** A node workflow may run from now on. */
  readonly onNodeFault: (node: string) => void;
  readonly metrics: Pick<ControllerMetrics, 'externalReports'>;
  readonly log: Logger;
}

/** How long Temporal may take before the sender is asked to send again, ms. */
const takeWithinMs = 5000;

interface Context extends Pick<ExternalEndpoint, 'settings' | 'collector' | 'onNodeFault' | 'metrics' | 'log'> {
  /** Faults of one sender. */
  readonly rates: Buckets;
  /** Ids of faults that Temporal has. */
  readonly taken: Recent<true>;
}

/** Adds a path for each format. Without a sender there is none. */
export function takeExternalReports(server: FastifyInstance, endpoint: ExternalEndpoint): void {
  const { settings, limits, senderOf, reject } = endpoint;
  if (settings.senders.length === 0) return;
  const rate = { perSecond: limits.perMinute / 60, burst: limits.perMinute };
  const context = { ...endpoint, rates: openBuckets(rate, () => performance.now()), taken: openRecent<true>(20_000) };
  for (const [path, read] of Object.entries(externalReaders))
    server.post(path, async (request, reply) => {
      const known = senderOf(request);
      if (!known) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
      const mapped = read(request.body, known.sender);
      if ('kind' in mapped) return reject(reply, mapped);
      const answer = await take(mapped, known.sender, context);
      return 'kind' in answer ? reject(reply, answer) : reply.code(202).send(answer satisfies ExternalAnswer);
    });
}

async function take(
  { reports, unusable }: MappedReports,
  sender: ExternalSender,
  context: Context,
): Promise<ExternalAnswer | Refusal> {
  const collector = context.collector();
  if (!collector) return notLeading();
  const { nodes } = collector;
  if (reports.some(({ node }) => nodes.has(node) === undefined))
    return refused('kube-unreachable', 'the nodes are not listed yet');
  const facts = { now: Date.now(), freshMs: context.settings.fresh };
  const judged = reports.map((report) => ({
    report,
    verdict: judgeReport(report, sender, { ...facts, hasNode: nodes.has(report.node) === true }),
  }));
  const rejected = [
    ...unusable,
    ...judged.flatMap(({ report, verdict }) =>
      verdict.kind === 'unusable' ? [{ what: `${report.code} on ${report.node}`, because: verdict.because }] : [],
    ),
  ];
  const sent = await sendAll(
    judged.flatMap(({ verdict }) => ('fault' in verdict ? [verdict] : [])),
    sender,
    collector,
    context,
  );
  if ('kind' in sent) return sent;
  const history = judged.filter(({ verdict }) => verdict.kind === 'history');
  const answer = { ...sent, history: history.length, unusable: rejected.length };
  count(answer, sender, context);
  const codes = judged.map(({ report: { node, code }, verdict: { kind } }) => ({ node, code, kind }));
  context.log.info({ sender: sender.name, ...answer, reports: codes.slice(0, 20) }, 'reports of another program');
  const [first] = rejected;
  if (first && rejected.length === reports.length + unusable.length)
    return refused('not-usable', oneLine(`${first.what}: ${first.because}`, 300));
  return { ...answer, ...(first && { because: rejected.slice(0, 10) satisfies readonly UnusableReport[] }) };
}

type Sendable = Extract<ReportVerdict, { readonly kind: 'fault' | 'recovered' }>;

/** Sends each that Temporal does not have; a refusal when some could not be sent. What was sent is not sent again. */
async function sendAll(
  verdicts: readonly Sendable[],
  sender: ExternalSender,
  { outbox }: ExternalCollector,
  { rates, taken, collector, onNodeFault }: Context,
): Promise<Pick<ExternalAnswer, 'accepted' | 'repeated' | 'recovered'> | Refusal> {
  const different = [...new Map(verdicts.map((verdict) => [verdict.fault.id, verdict])).values()];
  const fresh = different.filter(({ fault }) => !taken.get(fault.id));
  const within = fresh.filter(() => rates.take(sender.name));
  const failures = await Promise.all(
    within.map(async ({ kind, node, fault }) => {
      if (kind === 'fault') onNodeFault(node);
      const message = kind === 'fault' ? faultMessage({ kind: 'node', node }, fault) : recoveredMessage(node, fault);
      try {
        await outbox.send(message, takeWithinMs);
        taken.put(fault.id, true);
        return undefined;
      } catch (error) {
        rates.give(sender.name);
        if (error instanceof KcoverError) return error;
        throw error;
      }
    }),
  );
  const failure = failures.find((each) => each !== undefined);
  if (failure) return collector() ? refused('temporal-unreachable', failure.because) : notLeading();
  if (within.length < fresh.length)
    return refused('too-many', `${sender.name} reports more faults than one sender may`, rates.waitMs(sender.name));
  const recovered = within.filter(({ kind }) => kind === 'recovered').length;
  return { accepted: within.length - recovered, repeated: verdicts.length - within.length, recovered };
}

function count(answer: ExternalAnswer, { name }: ExternalSender, { metrics }: Context): void {
  for (const result of ['accepted', 'repeated', 'recovered', 'history', 'unusable'] as const)
    metrics.externalReports.inc({ sender: name, result }, answer[result]);
}
