/** Injects many API faults around a healthy job: kcover must do nothing. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiProxy, ApiFaultProfile } from '../../testbed/api-proxy.ts';
import { podsOf } from '../../testbed/jobs.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';

/** Worse than any server that still answers occasionally. */
const storm: ApiFaultProfile = {
  'cut before': 0.2,
  'cut after': 0.1,
  hang: 0.01,
  conflict: 0.1,
  'too many requests': 0.05,
  'server error': 0.2,
  'cut watch': 1,
};

/** Frequent Lease renewals, so that the API is called often. */
export const busyControllers = { leaderElection: { lease: '20s', renew: '15s', retry: '100ms' } } as const;

/** Unexpected changes of the job, one sentence each; empty when it was left alone. */
export async function injectApiFaults(
  live: LiveKcover,
  proxy: ApiProxy,
  job: LiveJob,
  times: number,
  onProgress: (injected: number) => void = () => {},
): Promise<string[]> {
  const count = () => Object.values(proxy.injected).reduce((sum, each) => sum + each, 0);
  const before = count();
  proxy.setFaultProfile(storm);
  try {
    while (count() - before < times) {
      proxy.cutWatches();
      await sleep(100);
      onProgress(count() - before);
    }
  } finally {
    proxy.setFaultProfile({});
  }
  await live.settled(job, { incidents: 0, withinMs: 120_000 });
  const uids = (pods: typeof job.first) =>
    pods
      .map(({ metadata }) => metadata?.uid ?? '')
      .toSorted()
      .join(' ');
  const { writes } = await live.facts(job);
  return [
    ...live.records(job).map(({ incident, because }) => `there was an incident: ${incident}: ${because}`),
    ...(uids(await podsOf(live.cluster.api, job)) === uids(job.first) ? [] : ['its pods are not those that it had']),
    ...writes
      .filter(({ namespace }) => namespace === job.namespace)
      .map(({ verb, resource, name }) => `kcover wrote: ${verb} ${resource} ${name}`),
  ];
}
