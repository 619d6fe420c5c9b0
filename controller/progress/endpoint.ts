/** `POST /v1/progress`: what agents read in the progress files of their nodes. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ProgressAnswer, progressPath } from '../../contract/progress/progress.ts';
import { progressFiles } from '../../contract/progress/progress.schema.ts';
import type { Reject } from '../intake/refusals.ts';
import { firstIssue, notLeading, refused, type ReporterIdentity } from '../intake/reporter.ts';
import type { ProgressWatch } from './watch.ts';

/** Available only to the leader. */
export interface ProgressTaker extends Pick<ProgressWatch, 'take' | 'takeStep'> {
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

export function takeProgress(server: FastifyInstance, { progress, reporterOf, reject }: ProgressEndpoint): void {
  server.post(progressPath, async (request, reply) => {
    const reporter = reporterOf(request);
    if (!reporter) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = progressFiles.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const { node, files } = parsed.data;
    if (node !== reporter.node)
      return reject(reply, refused('other-node', `the files are of ${node}, their sender runs on ${reporter.node}`));
    const taker = progress();
    if (!taker) return reject(reply, notLeading());
    if (!taker.isUpToDate()) return reject(reply, refused('kube-unreachable', 'the pods of jobs are not listed yet'));
    const counted = files.map((file) => taker.take(file, node) === 'counted');
    return reply.code(200).send({ counted } satisfies ProgressAnswer);
  });
}
