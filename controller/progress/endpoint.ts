/** `POST /v1/progress` and `POST /v1/logs`: what agents read in the progress files, and in the logs of containers, of their nodes. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ProgressAnswer, progressPath } from '../../contract/progress/progress.ts';
import { type LogAnswer, logPath } from '../../contract/progress/logs.ts';
import { logReports } from '../../contract/progress/logs.schema.ts';
import { progressFiles } from '../../contract/progress/progress.schema.ts';
import type { Reject } from '../intake/refusals.ts';
import { firstIssue, notLeading, refused, type ReporterIdentity } from '../intake/reporter.ts';
import type { ProgressWatch } from './watch.ts';

/** Available only to the leader. */
export interface ProgressTaker extends Omit<ProgressWatch, 'see' | 'podNamed' | 'onMessage' | 'lookAgain' | 'forget'> {
  /** Whether the pods of jobs were listed. Before that, a file cannot be distinguished from one of an earlier attempt. */
  isUpToDate(): boolean;
}

export interface ProgressEndpoint {
  /** Undefined while this controller does not lead. */
  readonly progress: () => ProgressTaker | undefined;
  /** The authenticated sender. */
  readonly reporterOf: (request: FastifyRequest) => ReporterIdentity | undefined;
  readonly reject: Reject;
}

interface SentByNode {
  readonly node: string;
}

interface Schema<Body> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: Body }
    | { readonly success: false; readonly error: { readonly issues: Parameters<typeof firstIssue>[0] } };
}

export function takeProgress(server: FastifyInstance, { progress, reporterOf, reject }: ProgressEndpoint): void {
  /** Takes what the schema allows, from the agent of that node only. */
  function accept<Body extends SentByNode>(
    path: string,
    schema: Schema<Body>,
    take: (taker: ProgressTaker, body: Body) => boolean[],
  ) {
    server.post(path, async (request, reply) => {
      const reporter = reporterOf(request);
      if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
      const parsed = schema.safeParse(request.body);
      if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
      const { node } = parsed.data;
      if (node !== reporter.node)
        return reject(reply, refused('other-node', `the progress is of ${node}, its sender runs on ${reporter.node}`));
      const taker = progress();
      if (!taker) return reject(reply, notLeading());
      if (!taker.isUpToDate()) return reject(reply, refused('kube-unreachable', 'the pods of jobs are not listed yet'));
      return reply.code(200).send({ counted: take(taker, parsed.data) } satisfies ProgressAnswer & LogAnswer);
    });
  }
  accept(progressPath, progressFiles, (taker, { files, node }) =>
    files.map((file) => taker.take(file, node) === 'counted'),
  );
  accept(logPath, logReports, (taker, reports) => taker.takeLogs(reports).map((answer) => answer === 'counted'));
}
