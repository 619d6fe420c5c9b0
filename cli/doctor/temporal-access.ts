/** Checks that the connection to Temporal is encrypted and authenticated, because anyone who can write to Temporal has all of kcover's permissions. Pure. */

import type { TemporalTarget } from '../clients/temporal.ts';
import { type Finding, ok, warn } from './finding.ts';

/** Loopback: the server is in the same pod or on the same machine. */
const isLocal = (address: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(address);

export const examineAccess = (target: TemporalTarget): readonly Finding[] => [
  transport(target),
  ...usualNamespace(target),
];

function transport({ address, options: { tls, apiKey } }: TemporalTarget): Finding {
  const check = 'temporal access';
  if (isLocal(address)) return ok(check, `${address} is this machine`);
  const certificate = typeof tls === 'object' && tls?.clientCertPair !== undefined;
  const identified = apiKey !== undefined || certificate;
  // The client uses TLS whenever an API key is set.
  const encrypted = Boolean(tls) || apiKey !== undefined;
  if (encrypted && identified)
    return ok(check, `TLS, and ${apiKey === undefined ? 'a client certificate' : 'an API key'}`);
  const because = encrypted
    ? `${address} does not authenticate clients: any client that reaches it has all of kcover's rights`
    : `plain text to ${address}, which does not authenticate clients: any client that reaches it, or intercepts the traffic, has all of kcover's rights`;
  return warn(
    check,
    because,
    'TEMPORAL_API_KEY or TEMPORAL_TLS_CLIENT_CERT_PATH (chart: temporal.apiKey, temporal.tls); until then restrict network access to it',
  );
}

const usualNamespace = ({ namespace }: TemporalTarget): readonly Finding[] =>
  namespace === 'default'
    ? [
        warn(
          'temporal namespace',
          'default is the namespace of every tool without a setting: other applications write there too',
          'a namespace for kcover alone: temporal operator namespace create -n kcover, and TEMPORAL_NAMESPACE=kcover',
        ),
      ]
    : [];
