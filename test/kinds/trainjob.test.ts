/** Checks the facts about TrainJob in docs/job-kinds-in-detail.md against the controllers of Trainer and JobSet. */

import { expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobRef } from '../../contract/job/jobs.ts';
import { resumeJob } from '../../kube/jobs/jobs.ts';
import { merge } from '../../testbed/api.ts';
import { failContainer, succeed } from '../../testbed/failures.ts';
import { awaitRunning, placeOf } from '../../testbed/jobs.ts';
import { runtimeWithoutRetries, trainJob } from '../../testbed/set-manifests.ts';
import { incident, podOf, uidsOf, useKindsRig } from '../support/kinds-rig.ts';

const rig = useKindsRig();

const started = (runtime?: string) =>
  rig.started((options) =>
    trainJob({ ...options, ...(runtime !== undefined && { spec: { runtimeRef: { name: runtime } } }) }),
  );

interface JobSet extends KubernetesObject {
  readonly status?: { readonly restarts?: number };
}

const setOf = ({ namespace, name }: JobRef) => placeOf({ kind: 'JobSet', namespace, name });
const readSet = async (ref: JobRef): Promise<JobSet> => rig.api.custom.getNamespacedCustomObject(setOf(ref));

async function failedPods({ namespace, name }: JobRef): Promise<number[]> {
  const labelSelector = `jobset.sigs.k8s.io/jobset-name=${name}`;
  const { items } = await rig.api.batch.listNamespacedJob({ namespace, labelSelector });
  return items.map(({ status }) => status?.failed ?? 0);
}

it.each([undefined, runtimeWithoutRetries])(
  'keeps its JobSet and counts no failure when it is suspended and resumed, with runtime %s',
  async (runtime) => {
    const { job, ref, first } = await started(runtime);
    const before = await readSet(ref);
    await rig.suspend(ref);
    await rig.gone(ref);
    expect(await resumeJob(rig.kube, ref, incident)).toBe(true);
    await awaitRunning(rig.api, job, { withinMs: 120_000, except: new Set(uidsOf(first)) });
    const after = await readSet(ref);
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(after.status?.restarts ?? 0).toBe(0);
    expect(await failedPods(ref)).toEqual([0]);
  },
);

it('resumes its JobSet when another client suspends it: only the TrainJob can be stopped', async () => {
  const { job, ref, first } = await started();
  await rig.api.custom.patchNamespacedCustomObject({ ...setOf(ref), body: { spec: { suspend: true } } }, merge);
  const now = await awaitRunning(rig.api, job, { withinMs: 120_000, except: new Set(uidsOf(first)) });
  expect(now).toHaveLength(3);
  expect((await rig.seen(ref)).suspension).toBeUndefined();
});

it('fails for good with the first rank that fails, where its runtime allows no retry', async () => {
  const { ref, first } = await started(runtimeWithoutRetries);
  await failContainer(rig.api, podOf(first, ref, 'node'), { exitCode: 1 });
  await rig.ended(ref, 'failed');
});

it('succeeds when all its ranks have succeeded', async () => {
  const { ref, first } = await started();
  for (const pod of first) await succeed(rig.api, pod);
  await rig.ended(ref, 'succeeded');
});
