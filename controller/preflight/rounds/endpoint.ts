/** `POST /v1/preflight/rounds`: a preflight container asks which rank to test next. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { roundsPath } from '../../../contract/preflight/rounds.ts';
import { roundRequest } from '../../../contract/preflight/rounds.schema.ts';
import type { Reject } from '../../intake/refusals.ts';
import { firstIssue, notLeading, refused, type ReporterIdentity } from '../../intake/reporter.ts';
import type { Rounds } from './polls.ts';

export interface RoundsEndpoint {
  /** Undefined while this controller does not lead. */
  readonly rounds: () => Rounds | undefined;
  /** The authenticated sender. */
  readonly reporterOf: (request: FastifyRequest) => ReporterIdentity | undefined;
  readonly reject: Reject;
}

/** Bytes of a request: all results of one rank. */
const bodyLimit = 32 * 1024;

export function openRounds(server: FastifyInstance, { rounds, reporterOf, reject }: RoundsEndpoint): void {
  server.post(roundsPath, { bodyLimit }, async (request, reply) => {
    const sender = reporterOf(request);
    const table = rounds();
    if (!table) return reject(reply, notLeading());
    if (!sender) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = roundRequest.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const answer = await table.next(sender.podUid, parsed.data);
    return answer.kind === 'refused' ? reject(reply, answer) : reply.code(200).send(answer);
  });
}
