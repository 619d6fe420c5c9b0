/** What stands before every path of the intake: nothing of a body is read before it is known whose it is, and that it may come now. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticate } from './authenticate.ts';
import type { Reject } from './refusals.ts';
import { notLeading, refused, type ReporterIdentity } from './reporter.ts';
import type { Buckets } from './token-bucket.ts';

export interface DoorOptions {
  /** Of each path, who may come. */
  readonly authenticate: Readonly<Record<string, Authenticate>>;
  readonly leading: () => boolean;
  /** Requests by the UID of their pod. */
  readonly requests: Buckets;
  readonly reject: Reject;
}

/** Answers with a look at who was let in. */
export function openDoor(
  server: FastifyInstance,
  { authenticate, leading, requests, reject }: DoorOptions,
): (request: FastifyRequest) => ReporterIdentity | undefined {
  const known = new WeakMap<FastifyRequest, ReporterIdentity>();
  server.addHook('onRequest', async (request, reply) => {
    const authenticated = authenticate[request.routeOptions.url ?? ''];
    if (!authenticated) return reject(reply, refused('no-such-path', 'there is nothing here'));
    if (!leading()) return reject(reply, notLeading());
    const answer = await authenticated(request.headers.authorization, request.ip);
    if (answer.kind === 'refused') {
      // Not known yet: there are only so many connections, and those that are let in need them.
      if (answer.rejection === 'too-many') reply.header('connection', 'close');
      return reject(reply, answer);
    }
    if (!requests.take(answer.podUid)) return reject(reply, refused('too-many', 'this pod asks too often', requests.waitMs(answer.podUid)));
    known.set(request, answer);
    return undefined;
  });
  return (request) => known.get(request);
}
