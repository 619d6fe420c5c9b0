/** Containers beside the trainer that fail and are restarted, which the training operator ignores. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { attachTestCluster } from '../../testbed/attach.ts';
import { failContainer } from '../../testbed/failures.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { eventually, testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), { workflowBundle });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

const podsNow = (job: LiveJob): Promise<V1Pod[]> => podsOf(live.cluster.api, job);
const uids = (pods: readonly V1Pod[]): string[] => pods.map(({ metadata }) => metadata?.uid ?? '').toSorted();

/** Init containers of the job that failed before, by name. */
const failedBefore = (pods: readonly V1Pod[]): string[] =>
  pods
    .flatMap(({ status }): V1ContainerStatus[] => status?.initContainerStatuses ?? [])
    .filter(({ lastState }) => (lastState?.terminated?.exitCode ?? 0) !== 0)
    .map(({ name }) => name)
    .toSorted();

describe('a PyTorchJob whose helpers fail and are started again', () => {
  it('is left alone, and is restarted once when its trainer fails', async () => {
    const job = await live.pytorch({
      workers: 1,
      sidecars: ['logs'],
      startupSeconds: 1,
      podAnnotations: { 'testbed.kcover.io/init-fails': 'true', 'testbed.kcover.io/sidecar-restarts': 'true' },
    });
    // The operator itself gives its workers an init container that fails until the master runs.
    const failing = ['init-pytorch', 'logs', 'logs'];
    await eventually(
      async () => failedBefore(await podsNow(job)),
      (names) => names.join() === failing.join(),
    );
    await sleep(3000);
    expect(uids(await podsNow(job))).toEqual(uids(job.first));
    expect(live.records(job)).toEqual([]);
    expect((await live.writes(job.since)).filter(({ namespace }) => namespace === job.namespace)).toEqual([]);

    const trainer = job.first.at(-1);
    if (!trainer) throw new Error('the job has no pod');
    await failContainer(live.cluster.api, trainer, { exitCode: 1, restart: true });
    const records = await live.settled(job);
    // The helpers of the next attempt fail as well.
    await eventually(
      async () => failedBefore(await podsNow(job)),
      (names) => names.join() === failing.join(),
    );
    await sleep(3000);
    expect(await live.settled(job)).toEqual(records);
    expect(records).toMatchObject([
      { outcome: 'restarted', faults: [{ code: 'pod/exit' }], stops: [{ by: 'suspend' }] },
    ]);
    expect(uids(await podsNow(job))).not.toEqual(uids(job.first));
    expect(violations(await live.facts(job))).toEqual([]);
  });
});
