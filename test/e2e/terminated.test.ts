import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jobWorkflowId } from '../../contract/ids.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { until } from '../../testbed/until.ts';
import { type LiveJob, LiveKcover, shortLease, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const controllerSettings = { ...shortLease, jobs: { lookAgain: '5s' } };
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    controllerSettings,
  });
});
afterAll(async () => {
  await live?.clear();
  await live?.close();
}, 120_000);

const leader = async () =>
  (await live.cluster.api.coordination.readNamespacedLease({ namespace: ownNamespace, name: 'kcover' })).spec
    ?.holderIdentity;

/** Id of the recovery that has just suspended the job. */
const stopping = (job: LiveJob): Promise<string> =>
  until(`${job.name} is being stopped`, 60_000, async () => {
    const { incident } = await live.status(job);
    if (incident === undefined) return { missing: 'no incident is open' };
    const { phase } = await live.temporal.workflow.getHandle(incident).query<RecoveryStatus>(statusQuery);
    return phase === 'stopping' && live.recorder.isSuspended(job) ? { found: incident } : { missing: phase };
  });

describe('workflows that a person terminates in the middle of a stop', () => {
  it('leave no job suspended: the same controller resumes it and watches it again', async () => {
    const job = await live.pytorch({ terminationSeconds: 4 });
    const [node] = job.nodes;
    if (!node) throw new Error('the job has no pod on a node');
    await breakGpu(node, xid79);
    const [recovery, led] = await Promise.all([stopping(job), leader()]);
    // The job's workflow first: it would find out that its recovery ended.
    const ids = [jobWorkflowId(job), recovery];
    const runs = await Promise.all(ids.map((id) => live.revisionOf(id)));
    for (const id of ids) await live.temporal.workflow.getHandle(id).terminate('terminated by hand');
    await live.recorder.seen(`${job.name} is no longer suspended`, 120_000, () => !live.recorder.isSuspended(job));
    await live.settled(job, { incidents: 0 });
    expect(await live.revisionOf(jobWorkflowId(job))).not.toBe(runs[0]);
    expect(await live.isOpen(recovery)).toBe(false);
    const pods = live.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
    expect(pods.map(({ uid }) => uid).filter((uid) => job.first.some(({ metadata }) => metadata?.uid === uid))).toEqual(
      [],
    );
    expect(await leader()).toBe(led);
  });
});
