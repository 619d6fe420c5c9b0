/** Checks every request to the intake before its body is read: the path exists, this controller leads, the sender is authenticated and within its rate. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SenderIdentity } from '../external/senders.ts';
import type { Reject } from './refusals.ts';
import { notLeading, type Refusal, refused, type ReporterIdentity } from './reporter.ts';
import type { Buckets } from './token-bucket.ts';

type Identity = ReporterIdentity | SenderIdentity;

export interface RequestGuardOptions {
  /** Authentication of each path. */
  readonly authenticate: Readonly<
    Record<string, (authorization: string | undefined, from: string) => Promise<Identity | Refusal>>
  >;
  readonly leading: () => boolean;
  /** Rate of requests, by the UID of the sending pod or the name of the sender. */
  readonly requests: Buckets;
  readonly reject: Reject;
}

/** Looks up who has sent a request, after it was authenticated. */
export interface RequestIdentities {
  readonly reporterOf: (request: FastifyRequest) => ReporterIdentity | undefined;
  readonly senderOf: (request: FastifyRequest) => SenderIdentity | undefined;
}

/** Adds the checks to the server. */
export function guardRequests(
  server: FastifyInstance,
  { authenticate, leading, requests, reject }: RequestGuardOptions,
): RequestIdentities {
  const reporters = new WeakMap<FastifyRequest, ReporterIdentity>();
  const senders = new WeakMap<FastifyRequest, SenderIdentity>();
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
    const key = answer.kind === 'reporter' ? answer.podUid : `sender ${answer.sender.name}`;
    if (!requests.take(key))
      return reject(reply, refused('too-many', 'this sender asks too often', requests.waitMs(key)));
    if (answer.kind === 'reporter') reporters.set(request, answer);
    else senders.set(request, answer);
    return undefined;
  });
  return { reporterOf: (request) => reporters.get(request), senderOf: (request) => senders.get(request) };
}
