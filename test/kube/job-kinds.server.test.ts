/** Checks what the registry says of every kind against its real controller, where that runs here. */

import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { jobKinds as every } from '../../contract/job/jobs.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { resumeJob } from '../../kube/jobs/jobs.ts';
import { deleteMatchingPods, listMatchingPods, podsPath } from '../../kube/pods/pods.ts';
import { patchObject } from '../../kube/client/requests.ts';
import { succeed } from '../../testbed/failures.ts';
import {
  batchJob,
  kubeflowKinds,
  type JobManifest,
  kubeflowJob,
  type KubeflowJobOptions,
  type KubeflowKindName,
} from '../../testbed/job-manifests.ts';
import { awaitRunning } from '../../testbed/jobs.ts';
import { incident, podOf, uidsOf, useKindsRig } from '../support/kinds-rig.ts';
import { eventually } from '../support/rig.ts';

const rig = useKindsRig();

type RunningKind = KubeflowKindName | 'Job';
const kinds = every.filter((kind): kind is RunningKind => kind === 'Job' || kubeflowKinds.includes(kind));

function manifestOf(kind: RunningKind, { restartPolicy, ...options }: KubeflowJobOptions): JobManifest {
  if (kind === 'Job') return batchJob({ ...options, pods: 2 });
  return kubeflowJob(kind, { ...options, ...(restartPolicy && { restartPolicy }) });
}

type Options = Pick<KubeflowJobOptions, 'restartPolicy' | 'exitOnTerm' | 'terminationSeconds'>;
const started = (kind: RunningKind, options: Options = {}) =>
  rig.started((usual) => manifestOf(kind, { ...usual, ...options }));

describe.each(kinds)('%s', (kind) => {
  it('has the pods that its selector finds, is stopped by suspend and comes back whole, and succeeds with the pod that decides', async () => {
    const entry = jobKinds[kind];
    const { job, ref, first } = await started(kind);
    expect(uidsOf(await listMatchingPods(rig.kube, ref))).toEqual(uidsOf(first));
    expect(await rig.seen(ref)).toMatchObject({
      optedIn: true,
      podsExpected: first.length,
      canStopBy: expect.arrayContaining(['suspend']),
    });

    await rig.suspend(ref);
    await rig.gone(ref);
    expect(await rig.seen(ref)).toMatchObject({ suspension: { by: 'kcover', incident, attempt: 1 } });
    expect(await resumeJob(rig.kube, ref, incident)).toBe(true);
    const next = await awaitRunning(rig.api, job);
    expect(next).toHaveLength(first.length);

    const { items } = await rig.api.core.listNamespacedPod({
      namespace: ref.namespace,
      labelSelector: entry.podsOfKind,
    });
    expect(uidsOf(items)).toEqual(expect.arrayContaining(uidsOf(next)));
    const decides = entry.succeedsWith({ ...(manifestOf(kind, { name: job.name }) as object) });
    const deciding = next.filter(
      (pod) => decides === undefined || entry.roleOf(pod.metadata?.labels ?? {})?.role === decides.role,
    );
    expect((await rig.seen(ref)).finished).toBeUndefined();
    for (const pod of deciding) await succeed(rig.api, pod);
    await rig.ended(ref, 'succeeded');
  });
});

/** Keeps the pods visible after their end until `letGo`, so that a slow controller sees them. */
async function keep(pods: readonly V1Pod[]): Promise<{ letGo: () => Promise<void> }> {
  const patch = (finalizers: readonly string[] | null) =>
    Promise.all(
      pods.map(({ metadata }) =>
        patchObject(
          rig.kube,
          `${podsPath(metadata?.namespace ?? '')}/${metadata?.name}`,
          { metadata: { finalizers } },
          'keep',
        ),
      ),
    );
  await patch(['testbed.kcover.io/kept']);
  return { letGo: async () => void (await patch(null)) };
}

describe('a job whose pods are deleted', () => {
  it.each<[string, RunningKind, Options, 'runs again' | 'failed']>([
    ['PyTorchJob with OnFailure', 'PyTorchJob', { restartPolicy: 'OnFailure' }, 'runs again'],
    ['PaddleJob with Always', 'PaddleJob', { restartPolicy: 'Always' }, 'runs again'],
    ['PyTorchJob with Never', 'PyTorchJob', { restartPolicy: 'Never' }, 'failed'],
    [
      'PyTorchJob with ExitCode and a code below 128',
      'PyTorchJob',
      { restartPolicy: 'ExitCode', exitOnTerm: 1 },
      'failed',
    ],
    ['TFJob with OnFailure', 'TFJob', { restartPolicy: 'OnFailure' }, 'failed'],
    ['MPIJob with OnFailure', 'MPIJob', { restartPolicy: 'OnFailure' }, 'failed'],
    ['XGBoostJob with OnFailure', 'XGBoostJob', { restartPolicy: 'OnFailure' }, 'failed'],
    ['batch Job', 'Job', {}, 'failed'],
  ])('%s', async (_sentence, kind, options, expected) => {
    const fails = expected === 'failed';
    const { job, ref, first } = await started(kind, { terminationSeconds: fails ? 3 : 1, ...options });
    expect((await rig.seen(ref)).canStopBy.includes('delete-collection')).toBe(!fails);
    // The controller of batch Jobs keeps its pods itself.
    const lasting = await keep(fails && kind !== 'Job' ? first : []);
    await deleteMatchingPods(rig.kube, ref);
    if (!fails) await awaitRunning(rig.api, job, { except: new Set(uidsOf(first)) });
    await eventually(
      async () => (await rig.seen(ref)).finished?.as,
      (end) => end === (fails ? 'failed' : undefined),
    );
    await lasting.letGo();
  });

  it('has succeeded when the deciding pod is deleted and exits with 0, which cannot happen with suspend', async () => {
    const { ref, first } = await rig.started(({ name, gpus, labels }) =>
      kubeflowJob('PyTorchJob', { name, gpus, labels, terminationSeconds: 20 }),
    );
    const master = podOf(first, ref, 'master');
    const lasting = await keep([master]);
    await deleteMatchingPods(rig.kube, ref);
    await succeed(rig.api, master);
    await rig.ended(ref, 'succeeded');
    await lasting.letGo();
  });
});
