import type { Write } from '../testbed/audit.ts';

/** From one moment to another, ms. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

const own = 'system:serviceaccount:kcover-system:kcover-';
const apart = new Set(['events', 'leases', 'tokenreviews', 'subjectaccessreviews', 'selfsubjectaccessreviews']);

/** Requests of kcover that change something, Events, Leases and reviews apart. */
export const writesIn = ({ from, to }: Window, writes: readonly Write[]): Write[] =>
  writes.filter(
    ({ at, user, resource }) =>
      at.getTime() >= from && at.getTime() <= to && user.startsWith(own) && !apart.has(resource),
  );
