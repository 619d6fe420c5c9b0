/** One coordination Lease, read and written with optimistic locking. */

import { type V1Lease, V1MicroTime } from '@kubernetes/client-node';
import type { Kube } from './connection.ts';
import { isNotFound, kubeError } from './errors.ts';

/** A Lease as its holder wrote it. Times are the holder's clock: compare them for equality only. */
export interface Lease {
  /** Empty when it was released. */
  readonly holder: string;
  readonly durationMs: number;
  /** RFC 3339, as text. */
  readonly acquiredAt: string;
  readonly renewedAt: string;
  /** Number of changes of its holder. */
  readonly transitions: number;
}

/** A Lease as read: a write fails if it was changed in between. */
export interface HeldLease extends Lease {
  readonly resourceVersion: string;
}

/** Reads and writes one Lease. Throws `KcoverError`; `kube.conflict` when another client wrote first. */
export interface LeaseStore {
  read(): Promise<HeldLease | undefined>;
  create(lease: Lease): Promise<HeldLease>;
  replace(lease: HeldLease): Promise<HeldLease>;
}

export function leaseStore(kube: Kube, where: { readonly namespace: string; readonly name: string }): LeaseStore {
  const { namespace, name } = where;
  const doing = (what: string) => `${what} Lease ${namespace}/${name}`;
  return {
    async read() {
      try {
        return heldLease(await kube.coordination.readNamespacedLease({ namespace, name }));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw kubeError(error, doing('read'));
      }
    },
    async create(lease) {
      try {
        return heldLease(
          await kube.coordination.createNamespacedLease({
            namespace,
            body: { metadata: { namespace, name }, spec: specOf(lease) },
          }),
        );
      } catch (error) {
        throw kubeError(error, doing('create'));
      }
    },
    async replace({ resourceVersion, ...lease }) {
      try {
        const body = { metadata: { namespace, name, resourceVersion }, spec: specOf(lease) };
        return heldLease(await kube.coordination.replaceNamespacedLease({ namespace, name, body }));
      } catch (error) {
        throw kubeError(error, doing('write'));
      }
    },
  };
}

const specOf = (lease: Lease): NonNullable<V1Lease['spec']> => ({
  holderIdentity: lease.holder,
  leaseDurationSeconds: Math.max(1, Math.ceil(lease.durationMs / 1000)),
  acquireTime: new V1MicroTime(lease.acquiredAt),
  renewTime: new V1MicroTime(lease.renewedAt),
  leaseTransitions: lease.transitions,
});

function heldLease({ metadata, spec }: V1Lease): HeldLease {
  return {
    holder: spec?.holderIdentity ?? '',
    durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    acquiredAt: text(spec?.acquireTime),
    renewedAt: text(spec?.renewTime),
    transitions: spec?.leaseTransitions ?? 0,
    resourceVersion: metadata?.resourceVersion ?? '',
  };
}

const text = (time: Date | undefined): string => (time === undefined ? '' : new Date(time).toISOString());
