/** A token as the API server issues it for a pod, without a valid signature. */

export interface TokenClaims {
  readonly audience?: string;
  /** `namespace:name`. */
  readonly account?: string;
  readonly pod?: { readonly name: string; readonly uid: string } | undefined;
  /** Seconds since the epoch. */
  readonly expires?: number;
}

export function serviceToken(claims: TokenClaims = {}, signature = 'c2lnbmVk'): string {
  const { audience = 'kcover-controller', account = 'kcover-system:kcover-agent', expires = 4_000_000_000 } = claims;
  const pod = 'pod' in claims ? claims.pod : { name: 'agent-1', uid: 'pod-uid' };
  const payload = {
    aud: [audience],
    exp: expires,
    sub: `system:serviceaccount:${account}`,
    'kubernetes.io': { namespace: account.split(':')[0], pod },
  };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part(payload)}.${signature}`;
}
