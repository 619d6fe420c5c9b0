/** Checks what the registry says of LeaderWorkerSet, JobSet, the MPIJob of the mpi-operator, TrainJob and RayCluster against their own controllers. */

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import { jobsOfPods } from '../../kube/jobs/kinds/index.ts';
import { resumeJob, suspendJob } from '../../kube/jobs/jobs.ts';
import { topJob } from '../../kube/jobs/child-jobs.ts';
import { deletePod, listMatchingPods, podsOfJob } from '../../kube/pods/pods.ts';
import { failContainer } from '../../testbed/failures.ts';
import { awaitRunning, podsOf } from '../../testbed/jobs.ts';
import { manifestOf } from '../../testbed/set-manifests.ts';
import { until } from '../../testbed/until.ts';
import { incident, podOf, uidsOf, useKindsRig } from '../support/kinds-rig.ts';

const rig = useKindsRig();
const worker = {
  LeaderWorkerSet: 'worker',
  JobSet: 'workers',
  MPIJobV2beta1: 'worker',
  TrainJob: 'node',
  RayCluster: 'gpus',
} as const;
type Kind = keyof typeof worker;
const kinds: readonly Kind[] = ['LeaderWorkerSet', 'JobSet', 'MPIJobV2beta1', 'TrainJob', 'RayCluster'];

const started = (kind: Kind, name?: string) => rig.started((options) => manifestOf(kind, options), name);

/** Time in which a controller could do something wrong. */
const aWhile = (): Promise<void> => sleep(2000);

/** A rank fails, with the effect that the restart policy of its pod has. */
async function killRank(ref: JobRef, pods: readonly V1Pod[]): Promise<void> {
  const pod = podOf(pods, ref, worker[ref.kind as Kind]);
  await failContainer(rig.api, pod, { exitCode: 137, restart: pod.spec?.restartPolicy !== 'Never' });
}

describe.each(kinds)('%s', (kind) => {
  it('has the pods that its selector finds, and each of them resolves to it', async () => {
    const { ref, first } = await started(kind);
    expect(first).toHaveLength(3);
    expect(uidsOf(await listMatchingPods(rig.kube, ref))).toEqual(uidsOf(first));
    expect((await podsOfJob(rig.kube, ref)).present.map(({ uid }) => uid).toSorted()).toEqual(uidsOf(first));
    expect(await rig.seen(ref)).toMatchObject({ optedIn: true, podsExpected: 3, canStopBy: ['suspend'] });
    const found = await Promise.all(jobsOfPods(first).map((child) => topJob(rig.kube, child)));
    expect(new Set(found.map(({ uid }) => uid))).toEqual(new Set([ref.uid]));
    expect(found.map((each) => each.kind)).toEqual(found.map(() => kind));
  });

  it('is stopped completely when a rank has failed, stays without pods, and comes back completely and once, repeatedly', async () => {
    const { job, ref, first } = await started(kind);
    const known = new Set(uidsOf(first));
    let running = first;
    for (let round = 0; round < 2; round++) {
      await killRank(ref, running);
      await rig.suspend(ref);
      await rig.gone(ref);
      await aWhile();
      expect(await podsOf(rig.api, job)).toEqual([]);
      expect(await rig.seen(ref)).toMatchObject({
        suspension: { by: 'kcover', incident, attempt: 1 },
        podsExpected: 3,
      });
      expect(await resumeJob(rig.kube, ref, incident)).toBe(true);
      running = await awaitRunning(rig.api, job, { withinMs: 120_000, except: known });
      await aWhile();
      expect(uidsOf(await podsOf(rig.api, job))).toEqual(uidsOf(running));
      expect(running).toHaveLength(3);
      for (const uid of uidsOf(running)) known.add(uid);
      const { finished, suspension } = await rig.seen(ref);
      expect({ finished, suspension }).toEqual({ finished: undefined, suspension: undefined });
    }
  });

  it('is left alone by requests for an earlier job of its name', async () => {
    const before = await started(kind);
    await rig.remove(before.ref);
    await rig.gone(before.ref);
    const { job, ref, first } = await started(kind, before.ref.name);
    // Its controller may write its status at any time, which is a conflict.
    const refusal = await until('an answer about the UID', 30_000, async () => {
      const { resourceVersion } = await rig.seen(ref);
      const error: unknown = await suspendJob(rig.kube, {
        job: before.ref,
        incident,
        attempt: 1,
        resourceVersion,
      }).then(
        () => 'it was suspended',
        (thrown: unknown) => thrown,
      );
      const isConflict = error instanceof KcoverError && error.code === 'kube.conflict';
      return isConflict ? { missing: error.because } : { found: error };
    });
    expect(refusal).toMatchObject({ code: 'kube.invalid' });
    expect(await resumeJob(rig.kube, before.ref, incident)).toBe(false);
    const [pod] = first;
    expect(
      await deletePod(rig.kube, ref.namespace, {
        name: pod?.metadata?.name ?? '',
        uid: before.first[0]?.metadata?.uid ?? '',
      }),
    ).toBe('gone');
    await aWhile();
    expect(uidsOf(await podsOf(rig.api, job))).toEqual(uidsOf(first));
    expect((await rig.seen(ref)).suspension).toBeUndefined();
  });
});
