/** Checks that the API server answers, that its version is supported, and that a controller leads. */

import { KcoverError } from '../../contract/errors.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { openRequest } from '../../kube/client/connection.ts';
import { answerError, kubeError } from '../../kube/client/errors.ts';
import { leaseStore } from '../../kube/client/leases.ts';
import { clockFinding, failed, type Finding, look, ok, warn } from './finding.ts';
import { clockOffset } from './temporal.ts';

/** Oldest supported version: from this one on, tokens of pods contain their node. */
const oldest = [1, 30] as const;

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  readonly version: string;
  /** How far this machine's clock is ahead of the server's, ms. */
  readonly clockOffset: number | undefined;
}

/** All checks that need no permissions, and the Lease. Only the first when the API server does not answer. */
export async function examineKubernetes(kube: Kube, lease: LeaseName): Promise<readonly Finding[]> {
  let server: ServerVersion | undefined;
  const first = await look('kubernetes', async () => {
    server = await askServer(kube);
    const { major, minor, version } = server;
    const where = `${kube.server}, ${version}`;
    if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return ok('kubernetes', where);
    return failed(
      'kubernetes',
      `${where}: older than ${oldest.join('.')}, whose tokens are the first to name their node`,
      'upgrade the cluster',
    );
  });
  if (!server) return [first];
  const { clockOffset: off } = server;
  return [
    first,
    off === undefined
      ? warn('clock of kubernetes', 'its answers have no Date header', 'compare the clocks by hand')
      : clockFinding('clock of kubernetes', 'the API server', off, 2000),
    await look('leader', () => leader(kube, lease, off ?? 0)),
  ];
}

async function askServer(kube: Kube): Promise<ServerVersion> {
  const doing = 'ask for the version';
  const from = Date.now();
  try {
    const response = await openRequest(kube, { method: 'GET', path: '/version' });
    const text = await response.text();
    if (!response.ok) throw answerError(response.status, text, undefined, doing);
    const said = JSON.parse(text) as { readonly major?: string; readonly minor?: string; readonly gitVersion?: string };
    const date = Date.parse(response.headers.get('date') ?? '');
    // The Date header has whole seconds, rounded down.
    const off = Number.isNaN(date) ? undefined : clockOffset(date, from - 999, Date.now());
    return {
      major: Number.parseInt(said.major ?? '0'),
      minor: Number.parseInt(said.minor ?? '0'),
      version: said.gitVersion ?? 'unknown version',
      clockOffset: off,
    };
  } catch (error) {
    throw kubeError(error, doing);
  }
}

/** The times in a Lease come from its holder's clock. A Lease that is older than its duration by the API server's clock was not renewed. */
async function leader(kube: Kube, { namespace, name }: LeaseName, off: number): Promise<Finding> {
  const lease = await leaseStore(kube, { namespace, name })
    .read()
    .catch((error: unknown) => {
      // Not every role may read the Lease: the worker, for example, does not need it.
      if (error instanceof KcoverError && error.code === 'kube.forbidden') return 'forbidden' as const;
      throw error;
    });
  if (lease === 'forbidden')
    return warn(
      'leader',
      `the current user may not read the Lease ${namespace}/${name}`,
      'kcover doctor as an administrator',
    );
  const start = 'start a kcover controller';
  if (lease === undefined)
    return warn('leader', `there is no Lease ${namespace}/${name}: no controller has led yet`, start);
  if (lease.holder === '')
    return warn('leader', `Lease ${namespace}/${name} was released and no controller holds it`, start);
  const age = Date.now() - off - Date.parse(lease.renewedAt);
  const seconds = Math.max(0, Math.round(age / 1000));
  return age > lease.durationMs + 2000
    ? warn(
        'leader',
        `${lease.holder} renewed Lease ${namespace}/${name} ${seconds} s ago, for ${lease.durationMs / 1000} s`,
        `find out why it stopped, or ${start}`,
      )
    : ok('leader', `${lease.holder} holds Lease ${namespace}/${name}, renewed ${seconds} s ago`);
}
