/**
 * The claims of a token, read without verifying its signature. They only serve to refuse: a token that cannot pass is refused here and costs
 * the API server nothing. One that could pass is still reviewed there.
 */

import { type Refusal, refused } from './reporter.ts';

export interface ExpectedToken {
  readonly audience: string;
  /** `namespace/name` of the only account that may report; any account without. */
  readonly account?: string;
}

/** Clocks of two machines may differ by this much, ms. */
const leewayMs = 60_000;

export interface TokenClaim {
  readonly kind: 'claim';
  readonly podUid: string;
}

/** Whose token it claims to be, or why it is not worth a review. `now`: UTC, ms. */
export function readClaim(token: string, { audience, account }: ExpectedToken, now: number): TokenClaim | Refusal {
  const claims = claimsOf(token);
  if (!claims) return refused('unauthenticated', 'the token is no service-account token');
  const { aud, exp, sub } = claims;
  if (![aud].flat().includes(audience)) return refused('unauthenticated', 'the token is not valid for this audience');
  if (typeof exp !== 'number' || exp * 1000 + leewayMs < now)
    return refused('unauthenticated', 'the token has expired');
  const [, namespace, name] =
    /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/.exec(typeof sub === 'string' ? sub : '') ?? [];
  if (namespace === undefined || name === undefined)
    return refused('other-account', 'only service accounts may report');
  if (account !== undefined && account !== `${namespace}/${name}`)
    return refused('other-account', `${namespace}/${name} may not report`);
  const podUid = boundTo(claims['kubernetes.io']);
  return podUid === undefined
    ? refused('unauthenticated', 'the token is not bound to a pod')
    : { kind: 'claim', podUid };
}

type Claims = Readonly<Record<string, unknown>>;

function claimsOf(token: string): Claims | undefined {
  const [header, payload, signature, ...more] = token.split('.');
  if (!header || !payload || !signature || more.length > 0) return undefined;
  try {
    return objectOf(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  } catch {
    return undefined;
  }
}

const objectOf = (value: unknown): Claims | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;

/** UID of the pod. */
const boundTo = (kubernetes: unknown): string | undefined => {
  const { name, uid } = objectOf(objectOf(kubernetes)?.['pod']) ?? {};
  return typeof name === 'string' && typeof uid === 'string' ? uid : undefined;
};
