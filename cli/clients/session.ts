/** Connections of one command, opened on first use: `classify`, for example, needs none and loads no client library. */

import type { Client } from '@temporalio/client';
import type { Kube } from '../../kube/client/connection.ts';
import type { CliEnvironment } from '../program/environment.ts';
import type { TemporalConnection, TemporalTarget } from './temporal.ts';

/** A context of the kubeconfig, and the profile of Temporal's configuration that belongs to it. */
export interface NamedCluster {
  readonly context: string;
  readonly profile: string;
}

export interface Session {
  kube(): Promise<Kube>;
  temporal(): Promise<Client>;
  target(): Promise<TemporalTarget>;
  /** The session of a named cluster; it is kept, so that `--watch` connects once, and closed with this one. */
  of(cluster: NamedCluster): Session;
  close(): Promise<void>;
}

export function openSession(
  environment: CliEnvironment,
  kubeconfig: string | undefined,
  cluster?: NamedCluster,
): Session {
  const others = new Map<string, Session>();
  let kube: Promise<Kube> | undefined;
  let temporal: Promise<TemporalConnection> | undefined;
  const target = async () => (await import('./temporal.ts')).temporalTarget(environment.variables, cluster?.profile);
  const connect = async (): Promise<TemporalConnection> => {
    try {
      const [{ connectTemporal }, where] = await Promise.all([import('./temporal.ts'), target()]);
      return await connectTemporal(where);
    } catch (error) {
      // The next look of `--watch` tries again.
      temporal = undefined;
      throw error;
    }
  };
  return {
    kube: () =>
      (kube ??= import('./kubernetes.ts').then(({ openKube }) =>
        openKube({ kubeconfig, inCluster: false, context: cluster?.context }),
      )),
    temporal: async () => (await (temporal ??= connect())).client,
    target,
    of(named) {
      const known = others.get(named.context) ?? openSession(environment, kubeconfig, named);
      others.set(named.context, known);
      return known;
    },
    close: async () => {
      // A connection that failed to open has already been reported.
      await Promise.allSettled([
        kube?.then((each) => each.close()),
        temporal?.then((each) => each.close()),
        ...[...others.values()].map((each) => each.close()),
      ]);
    },
  };
}
