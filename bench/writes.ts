import type { Write } from '../testbed/audit.ts';

/** From one moment to another, ms. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

const own = 'system:serviceaccount:kcover-system:kcover-';
/** The roles of kcover that talk to the API server. */
export const ownUsers: readonly string[] = ['controller', 'worker'].map((role) => `${own}${role}`);

const reads = new Set(['get', 'list', 'watch']);
const apart = new Set(['events', 'tokenreviews', 'subjectaccessreviews', 'selfsubjectaccessreviews']);

/** All requests of kcover, but those for its Lease. A watch counts when it ends. */
export const requestsIn = ({ from, to }: Window, requests: readonly Write[]): Write[] =>
  requests.filter(
    ({ at, user, resource }) =>
      at.getTime() >= from && at.getTime() <= to && user.startsWith(own) && resource !== 'leases',
  );

/** Those of them that change something, Events and reviews apart. */
export const writesOf = (requests: readonly Write[]): Write[] =>
  requests.filter(({ verb, resource }) => !reads.has(verb) && !apart.has(resource));

export const writesIn = (window: Window, requests: readonly Write[]): Write[] => writesOf(requestsIn(window, requests));
