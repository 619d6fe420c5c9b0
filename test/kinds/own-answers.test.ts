/** Own reactions of the controllers of LeaderWorkerSet and of the mpi-operator, before kcover can stop a job. */

import { describe, expect, it } from '@jest/globals';
import { deletePod } from '../../kube/pods/pods.ts';
import { evict, failContainer, succeed } from '../../testbed/failures.ts';
import { leaderWorkerSet, mpiJobV2beta1 } from '../../testbed/group-manifests.ts';
import { awaitRunning } from '../../testbed/jobs.ts';
import { podOf, type StartedJob, uidsOf, useKindsRig } from '../support/kinds-rig.ts';

const rig = useKindsRig();

const deleteThe = (role: string, { ref, first }: StartedJob) => {
  const { name = '', uid = '' } = podOf(first, ref, role).metadata ?? {};
  return deletePod(rig.kube, ref.namespace, { name, uid });
};
const allNew = ({ job, first }: StartedJob) =>
  awaitRunning(rig.api, job, { withinMs: 120_000, except: new Set(uidsOf(first)) });

describe('a LeaderWorkerSet', () => {
  it.each(['leader', 'worker'])('has its whole group recreated when its %s is deleted', async (role) => {
    const set = await rig.started(leaderWorkerSet);
    await deleteThe(role, set);
    expect(await allNew(set)).toHaveLength(3);
  });

  it('has its whole group recreated when a container was restarted', async () => {
    const set = await rig.started(leaderWorkerSet);
    await failContainer(rig.api, podOf(set.first, set.ref, 'worker'), { exitCode: 1, restart: true });
    expect(await allNew(set)).toHaveLength(3);
  });

  it('has only that pod recreated with restart policy None', async () => {
    const set = await rig.started((options) => {
      const manifest = leaderWorkerSet(options);
      const template = { ...(manifest.spec['leaderWorkerTemplate'] as object), restartPolicy: 'None' };
      return { ...manifest, spec: { ...manifest.spec, leaderWorkerTemplate: template } };
    });
    const worker = podOf(set.first, set.ref, 'worker');
    await deleteThe('worker', set);
    const now = await awaitRunning(rig.api, set.job, { withinMs: 120_000, except: new Set(uidsOf([worker])) });
    expect(uidsOf(now).filter((uid) => uidsOf(set.first).includes(uid))).toHaveLength(2);
  });
});

describe('an MPIJob', () => {
  it('succeeds with its launcher, whatever its workers do', async () => {
    const { ref, first } = await rig.started(mpiJobV2beta1);
    await succeed(rig.api, podOf(first, ref, 'launcher'));
    await rig.ended(ref, 'succeeded');
  });

  it('has a deleted worker recreated, and nothing else', async () => {
    const set = await rig.started(mpiJobV2beta1);
    const worker = podOf(set.first, set.ref, 'worker');
    await deleteThe('worker', set);
    const now = await awaitRunning(rig.api, set.job, { except: new Set(uidsOf([worker])) });
    expect(uidsOf(now).filter((uid) => uidsOf(set.first).includes(uid))).toHaveLength(2);
  });

  it('fails when the kubelet evicts a worker', async () => {
    const { ref, first } = await rig.started(mpiJobV2beta1);
    await evict(rig.api, podOf(first, ref, 'worker'), 'kubelet');
    await rig.ended(ref, 'failed');
  });

  it('fails when its launcher ends with an error more often than backoffLimit allows', async () => {
    const { ref, first } = await rig.started((options) => mpiJobV2beta1({ ...options, backoffLimit: 0 }));
    await failContainer(rig.api, podOf(first, ref, 'launcher'), { exitCode: 1, restart: true });
    await rig.ended(ref, 'failed');
  });
});
