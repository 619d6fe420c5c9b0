/** Checks every request to the intake before its body is read: the path exists, this controller leads, the sender is authenticated and within its rate. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticate } from './authenticate.ts';
import type { Reject } from './refusals.ts';
import { notLeading, refused, type ReporterIdentity } from './reporter.ts';
import type { Buckets } from './token-bucket.ts';

export interface RequestGuardOptions {
  /** Authentication of each path. */
  readonly authenticate: Readonly<Record<string, Authenticate>>;
  readonly leading: () => boolean;
  /** Rate of requests, by the UID of the sending pod. */
  readonly requests: Buckets;
  readonly reject: Reject;
}

/** Adds the checks to the server. Returns a lookup of the authenticated sender of a request. */
export function guardRequests(
  server: FastifyInstance,
  { authenticate, leading, requests, reject }: RequestGuardOptions,
): (request: FastifyRequest) => ReporterIdentity | undefined {
  const known = new WeakMap<FastifyRequest, ReporterIdentity>();
  server.addHook('onRequest', async (request, reply) => {
    const authenticated = authenticate[request.routeOptions.url ?? ''];
    if (!authenticated) return reject(reply, refused('no-such-path', 'there is no such path'));
    if (!leading()) return reject(reply, notLeading());
    const answer = await authenticated(request.headers.authorization, request.ip);
    if (answer.kind === 'refused') {
      // The sender is not authenticated: connections are limited, and authenticated senders need them.
      if (answer.rejection === 'too-many') reply.header('connection', 'close');
      return reject(reply, answer);
    }
    if (!requests.take(answer.podUid))
      return reject(reply, refused('too-many', 'this pod asks too often', requests.waitMs(answer.podUid)));
    known.set(request, answer);
    return undefined;
  });
  return (request) => known.get(request);
}
