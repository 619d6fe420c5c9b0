/** What a person needs to find the cause of a violation, when the world in which it happened is gone. */

import type { StoryFacts } from '../support/invariants.ts';

/** Writes of kcover, lives of pods and the timelines of the incidents, a line each. */
export function evidence({ job, writes, pods, records }: StoryFacts): string {
  const ofJob = writes.filter(({ namespace, resource }) => namespace === job.namespace || resource === 'nodes');
  return [
    ...ofJob.map(
      ({ at, verb, resource, name, code, deleted, body }) =>
        `${at.toISOString()} ${verb} ${resource} ${name ?? ''} ${code} ${deleted.join(' ')} ${JSON.stringify(body ?? '').slice(0, 300)}`,
    ),
    ...pods.map(({ uid, name, node, created, gone }) => `pod ${name} ${uid} on ${node ?? 'no node'}: ${created} to ${gone ?? 'now'}`),
    ...records.flatMap(({ incident, stops, timeline }) => [
      `${incident}: stops ${JSON.stringify(stops)}`,
      ...timeline.map((entry) => `${incident}: ${JSON.stringify(entry)}`),
    ]),
  ].join('\n  ');
}
