/**
 * Maps a bearer token to the node that it may report for. An accepted token is cached for a minute, a refused one for some seconds. Requests to
 * the API server are bounded, so that a flood of requests to the intake does not slow down its watches.
 */

import { createHash } from 'node:crypto';
import { KcoverError } from '../../contract/errors.ts';
import type { LivePod, ReviewedToken } from '../../kube/client/tokens.ts';
import { openRecent } from '../recent.ts';
import { decideClaim, decideReporter, type Refusal, refused, type ReporterIdentity } from './reporter.ts';
import { type TokenSender, openReviewSlots } from './review-slots.ts';
import { readClaim, type ExpectedToken } from './unverified-token.ts';

/** Ports to the API server. Both throw `KcoverError` when it does not answer. */
export interface TokenSource {
  review(token: string): Promise<ReviewedToken>;
  pod(namespace: string, name: string): Promise<LivePod | undefined>;
}

export interface AuthenticateOptions extends ExpectedToken {
  readonly source: TokenSource;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly cacheMs?: number;
  readonly capacity?: number;
}

/** `from`: the address of the connection. */
export type Authenticate = (authorization: string | undefined, from: string) => Promise<ReporterIdentity | Refusal>;

/** No service-account token is longer. */
const longestToken = 8192;
/** How long a refusal holds, ms. */
const refuseMs = 5000;
/** When to ask again if no review slot is free, ms. */
const busyMs = 1000;

export function authenticator(options: AuthenticateOptions): Authenticate {
  const { source, account, now, cacheMs = 60_000, capacity = 10_000 } = options;
  const slots = openReviewSlots(capacity);
  /** Accepted tokens, by hash. */
  const accepted = openRecent<{ readonly reporter: ReporterIdentity; readonly until: number }>(capacity);
  const refusals = openRecent<{ readonly refusal: Refusal; readonly until: number }>(capacity);
  /** Reviews under way, by the hash of their token. */
  const underWay = new Map<string, Promise<ReporterIdentity | Refusal>>();

  async function ask(token: string): Promise<ReporterIdentity | Refusal> {
    const claimed = decideClaim(await source.review(token), account);
    if (claimed.kind === 'refused') return claimed;
    return decideReporter(claimed, await source.pod(claimed.namespace, claimed.pod.name));
  }

  async function review(token: string, key: string, sender: TokenSender): Promise<ReporterIdentity | Refusal> {
    const since = now();
    try {
      const answer = await ask(token);
      if (answer.kind === 'reporter') {
        accepted.put(key, { reporter: answer, until: since + cacheMs });
        slots.accepted(sender);
      } else refuse(key, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof KcoverError)) throw error;
      // The reason names the API server: it goes to our log, not to an unauthenticated sender.
      return { ...refused('kube-unreachable', 'the API server cannot review the token now'), internal: error.because };
    } finally {
      underWay.delete(key);
    }
  }

  function refuse(key: string, refusal: Refusal): void {
    accepted.drop(key);
    refusals.put(key, { refusal, until: now() + refuseMs });
  }

  return async (authorization, from) => {
    const token = /^Bearer ([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined || token.length > longestToken)
      return refused('unauthenticated', 'a bearer token is needed');
    const key = createHash('sha256').update(token).digest('base64');
    const known = accepted.get(key);
    if (known && now() < known.until) return known.reporter;
    const before = refusals.get(key);
    if (before && now() < before.until) return before.refusal;
    const same = underWay.get(key);
    if (same) return same;
    const claim = readClaim(token, options, Date.now());
    if (claim.kind === 'refused') return claim;
    const sender = { from, podUid: claim.podUid };
    const leave = slots.take(sender);
    if (!leave) return refused('too-many', 'too many tokens are being reviewed', busyMs);
    const asked = review(token, key, sender).finally(leave);
    underWay.set(key, asked);
    return asked;
  };
}
