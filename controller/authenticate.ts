/** From a bearer token to the node that it speaks for. What was found good is believed for a minute, what was not never. */

import { createHash } from 'node:crypto';
import { KcoverError } from '../contract/errors.ts';
import type { LivePod, ReviewedToken } from '../kube/tokens.ts';
import { decideClaim, decideReporter, type Refusal, refused, type Reporter } from './reporter.ts';

/** Ports to the API server. Both throw `KcoverError` when it does not answer. */
export interface TokenSource {
  review(token: string): Promise<ReviewedToken>;
  pod(namespace: string, name: string): Promise<LivePod | undefined>;
}

export interface AuthenticateOptions {
  readonly source: TokenSource;
  /** `namespace/name` of the only account that may report; any account without. */
  readonly account?: string;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly believeMs?: number;
  readonly capacity?: number;
}

export type Authenticate = (authorization: string | undefined) => Promise<Reporter | Refusal>;

/** Longer than any service-account token. */
const longestToken = 8192;

export function authenticator({ source, account, now, believeMs = 60_000, capacity = 10_000 }: AuthenticateOptions): Authenticate {
  const believed = new Map<string, { readonly reporter: Reporter; readonly until: number }>();

  async function ask(token: string): Promise<Reporter | Refusal> {
    const claimed = decideClaim(await source.review(token), account);
    if (claimed.kind === 'refused') return claimed;
    return decideReporter(claimed, await source.pod(claimed.namespace, claimed.pod.name));
  }

  function believe(key: string, reporter: Reporter, since: number): void {
    // Insertion order is age: the oldest belief is the first to go.
    believed.delete(key);
    believed.set(key, { reporter, until: since + believeMs });
    for (const oldest of believed.keys()) {
      if (believed.size <= capacity) return;
      believed.delete(oldest);
    }
  }

  return async (authorization) => {
    const token = /^Bearer ([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined || token.length > longestToken) return refused('unauthenticated', 'a bearer token is needed');
    const key = createHash('sha256').update(token).digest('base64');
    const known = believed.get(key);
    const asked = now();
    if (known && asked < known.until) return known.reporter;
    believed.delete(key);
    try {
      const answer = await ask(token);
      if (answer.kind === 'reporter') believe(key, answer, asked);
      return answer;
    } catch (error) {
      if (error instanceof KcoverError) return refused('kube-unreachable', error.because);
      throw error;
    }
  };
}
