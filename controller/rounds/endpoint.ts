/** `POST /v1/preflight/rounds`: a preflight container asks whom to test next. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { roundsPath } from '../../contract/preflight-rounds.ts';
import { roundRequest } from '../../contract/preflight-rounds.schema.ts';
import { rejections } from '../../contract/reports.ts';
import type { Authenticate } from '../authenticate.ts';
import { firstIssue, notLeading, type Refusal, refused, type Reporter } from '../reporter.ts';
import type { Rounds } from './polls.ts';

export interface RoundsEndpoint {
  /** For the audience of preflight pods; any account. */
  readonly authenticate: Authenticate;
  /** Undefined while we do not lead. */
  readonly rounds: () => Rounds | undefined;
  readonly onRefused: (refusal: Refusal) => void;
}

/** Bytes of a request: all results of one rank. */
const bodyLimit = 32 * 1024;

export function openRounds(server: FastifyInstance, { authenticate, rounds, onRefused }: RoundsEndpoint): void {
  const askers = new WeakMap<FastifyRequest, Reporter>();

  function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
    onRefused(refusal);
    // A standby must not keep the pod: its next connection may reach the leader.
    if (refusal.rejection === 'not-leading') reply.header('connection', 'close');
    return reply.code(rejections[refusal.rejection]).send({ error: refusal.rejection, because: refusal.because });
  }

  server.post(roundsPath, {
    bodyLimit,
    // Before the body is read.
    async onRequest(request, reply) {
      if (!rounds()) return refuse(reply, notLeading());
      const answer = await authenticate(request.headers.authorization);
      if (answer.kind === 'refused') return refuse(reply, answer);
      askers.set(request, answer);
      return undefined;
    },
    async handler(request, reply) {
      const asker = askers.get(request);
      const table = rounds();
      if (!table) return refuse(reply, notLeading());
      if (!asker) return refuse(reply, refused('unauthenticated', 'a bearer token is needed'));
      const parsed = roundRequest.safeParse(request.body);
      if (!parsed.success) return refuse(reply, refused('malformed', firstIssue(parsed.error.issues)));
      const answer = await table.next(asker.podUid, parsed.data);
      return answer.kind === 'refused' ? refuse(reply, answer) : reply.code(200).send(answer);
    },
  });
}
