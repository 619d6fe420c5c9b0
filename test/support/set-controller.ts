/** Simulates the controllers of JobSet and TrainJob as far as a recovery needs them: creates their jobs, and passes `suspend` down. The batch Jobs and pods are real. */

import type { V1Pod } from '@kubernetes/client-node';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { Api } from '../../testbed/api.ts';
import { batchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, changeJob, createJob, readJob, type RunningJob } from '../../testbed/jobs.ts';
import { jobSet, type JobSetOptions, trainJob } from '../../testbed/set-manifests.ts';

export interface PlayedSet {
  /** The JobSet or TrainJob. */
  readonly ref: JobRef;
  /** The JobSet. */
  readonly set: JobRef;
  readonly jobs: readonly JobRef[];
  /** Waits until every pod runs, without those in `except` by UID. */
  running(except?: ReadonlySet<string>): Promise<V1Pod[]>;
  close(): Promise<void>;
}

export interface PlayOptions extends JobSetOptions {
  readonly kind: 'JobSet' | 'TrainJob';
  readonly roles: Readonly<Record<string, number>>;
  /** Versions before 0.9 write no UID on pods. */
  readonly labelsUid?: boolean;
}

export async function playSet(api: Api, { kind, labelsUid = true, ...options }: PlayOptions): Promise<PlayedSet> {
  const { namespace = 'default', name, labels: _, ...common } = options;
  const nodes = Object.values(options.roles).reduce((sum, pods) => sum + pods, 0);
  const top = await createJob(api, kind === 'JobSet' ? jobSet(options) : trainJob({ ...options, nodes }));
  const set =
    kind === 'JobSet'
      ? top
      : await createJob(
          api,
          ownedBy(top, 'trainer.kubeflow.org/v1alpha1', jobSet({ ...common, namespace, name, roles: options.roles })),
        );
  const jobs: RunningJob[] = [];
  for (const [role, pods] of Object.entries(options.roles)) {
    const labels = {
      'jobset.sigs.k8s.io/jobset-name': name,
      'jobset.sigs.k8s.io/replicatedjob-name': role,
      ...(labelsUid && { 'jobset.sigs.k8s.io/jobset-uid': set.uid }),
    };
    const manifest = batchJob({
      ...common,
      namespace,
      name: `${name}-${role}-0`,
      pods,
      labels,
      podLabels: { ...common.podLabels, ...labels },
    });
    jobs.push(await createJob(api, ownedBy(set, 'jobset.x-k8s.io/v1alpha2', manifest)));
  }
  const closing = new AbortController();
  const children = kind === 'JobSet' ? jobs : [set, ...jobs];
  const playing = handDown(api, top, children, closing.signal);
  return {
    ref: refOf(top),
    set: refOf(set),
    jobs: jobs.map(refOf),
    running: async (except) =>
      (
        await Promise.all(jobs.map((job) => awaitRunning(api, job, { withinMs: 120_000, ...(except && { except }) })))
      ).flat(),
    async close() {
      closing.abort();
      await playing;
    },
  };
}

const refOf = ({ kind, namespace, name, uid }: RunningJob): JobRef => ({ kind, namespace, name, uid });

const ownedBy = <T extends { readonly metadata?: object }>(
  { kind, name, uid }: RunningJob,
  apiVersion: string,
  manifest: T,
): T => ({
  ...manifest,
  metadata: {
    ...manifest.metadata,
    ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
  },
});

async function handDown(
  api: Api,
  from: RunningJob,
  children: readonly RunningJob[],
  signal: AbortSignal,
): Promise<void> {
  for (let propagated = false; !signal.aborted;) {
    const suspend = await readJob(api, from).then(
      ({ spec }) => spec.suspend === true,
      () => propagated,
    );
    if (suspend !== propagated) await Promise.all(children.map((job) => changeJob(api, job, { spec: { suspend } })));
    propagated = suspend;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
