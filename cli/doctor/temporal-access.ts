/** Whether anybody could take part in the conversation with Temporal: who may write there has all of kcover's rights. Pure. */

import type { TemporalTarget } from '../temporal.ts';
import { type Finding, ok, warn } from './finding.ts';

/** In the same pod or machine. */
const isLocal = (address: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(address);

export const examineAccess = (target: TemporalTarget): readonly Finding[] => [transport(target), ...usualNamespace(target)];

function transport({ address, options: { tls, apiKey } }: TemporalTarget): Finding {
  const check = 'temporal access';
  if (isLocal(address)) return ok(check, `${address} is this machine`);
  const certificate = typeof tls === 'object' && tls?.clientCertPair !== undefined;
  const identified = apiKey !== undefined || certificate;
  // An API key turns TLS on by itself.
  const encrypted = Boolean(tls) || apiKey !== undefined;
  if (encrypted && identified) return ok(check, `TLS, and ${apiKey === undefined ? 'a client certificate' : 'an API key'}`);
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
