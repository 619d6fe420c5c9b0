/** Data with which a person can find the cause of a violation after the test cluster is gone. */

import { annotations } from '../../contract/ids.ts';
import type { Write } from '../../testbed/audit.ts';
import type { RunFacts } from '../support/invariants.ts';

/** Omitted, because they are many and their effects are in the timeline. */
const isProgress = ({ body }: Write): boolean => JSON.stringify(body ?? '').includes(annotations.progressAt);

/** Writes of kcover, lives of pods and the timelines of the incidents, a line each. */
export function evidence({ job, writes, pods, records }: RunFacts): string {
  const under = new Set(pods.map(({ node }) => node));
  const ofJob = writes.filter(
    (write) =>
      (write.namespace === job.namespace && !isProgress(write)) ||
      (write.resource === 'nodes' && write.name !== undefined && under.has(write.name)),
  );
  return [
    ...ofJob.map(
      ({ at, verb, resource, name, code, deleted, body }) =>
        `${at.toISOString()} ${verb} ${resource} ${name ?? ''} ${code} ${deleted.join(' ')} ${JSON.stringify(body ?? '').slice(0, 300)}`,
    ),
    ...pods.map(
      ({ uid, name, node, created, gone }) =>
        `pod ${name} ${uid} on ${node ?? 'no node'}: ${created} to ${gone ?? 'now'}`,
    ),
    ...records.flatMap(({ incident, stops, timeline }) => [
      `${incident}: stops ${JSON.stringify(stops)}`,
      ...timeline.map((entry) => `${incident}: ${JSON.stringify(entry)}`),
    ]),
  ].join('\n  ');
}
