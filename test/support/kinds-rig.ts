/** Jobs of kinds with running controllers, and kcover's reads and writes of them. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { jobKinds, jobPath } from '../../kube/jobs/kinds/index.ts';
import { readJob, suspendJob } from '../../kube/jobs/jobs.ts';
import { podsOfJob } from '../../kube/pods/pods.ts';
import { askKube } from '../../kube/client/requests.ts';
import { type Api, connect } from '../../testbed/api.ts';
import type { GroupManifest } from '../../testbed/group-manifests.ts';
import type { JobManifest, JobOptions } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, type RunningJob } from '../../testbed/jobs.ts';
import { eventually, testServers, type TestServers } from './rig.ts';

export const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;

export interface StartedJob {
  readonly job: RunningJob;
  readonly ref: JobRef;
  readonly first: V1Pod[];
}

/** Default options of a job. */
export type UsualOptions = Required<Pick<JobOptions, 'name' | 'gpus' | 'terminationSeconds' | 'exitOnTerm' | 'labels'>>;

export interface KindsRig {
  readonly kube: Kube;
  readonly api: Api;
  /** Resolves when all its pods run. */
  started(manifest: (usual: UsualOptions) => JobManifest | GroupManifest, name?: string): Promise<StartedJob>;
  seen(ref: JobRef): Promise<JobView>;
  /** Suspends with the annotation of the incident, however often its controller writes meanwhile. */
  suspend(ref: JobRef): Promise<void>;
  /** Resolves when it has no pod left. */
  gone(ref: JobRef): Promise<unknown>;
  ended(ref: JobRef, as: 'succeeded' | 'failed'): Promise<unknown>;
  remove(ref: JobRef): Promise<unknown>;
}

export const uidsOf = (pods: readonly V1Pod[]): string[] => pods.map(({ metadata }) => metadata?.uid ?? '').toSorted();

/** The first pod of a role. */
export function podOf(pods: readonly V1Pod[], { kind }: JobRef, role: string): V1Pod {
  const found = pods.find(({ metadata }) => jobKinds[kind].roleOf(metadata?.labels ?? {})?.role === role);
  if (!found) throw new Error(`no pod is the ${role}`);
  return found;
}

/** Call it at the top of a file. */
export function useKindsRig(): KindsRig {
  let kube: Kube;
  let api: Api;
  const created: JobRef[] = [];
  beforeAll(() => {
    const { kubeconfig } = testServers<TestServers & { readonly kubeconfig: string }>();
    kube = connectKube({ kubeconfig });
    api = connect(kubeconfig);
  });
  const remove = (ref: JobRef) =>
    askKube(
      kube,
      { method: 'DELETE', path: jobPath(ref), query: { propagationPolicy: 'Background' } },
      'remove the job',
    );
  afterAll(async () => {
    await Promise.all(created.map((ref) => remove(ref).catch(() => undefined)));
    await kube.close();
  });
  async function seen(ref: JobRef): Promise<JobView> {
    const view = await readJob(kube, ref, taint);
    if (!view) throw new Error(`${ref.name} is gone`);
    return view;
  }
  return {
    get kube() {
      return kube;
    },
    get api() {
      return api;
    },
    async started(manifest, name = `kind-${randomUUID().slice(0, 8)}`) {
      const job = await createJob(
        api,
        manifest({
          name,
          gpus: 0,
          terminationSeconds: 1,
          exitOnTerm: 143,
          labels: { [labels.cascadingRecovery]: 'true' },
        }),
      );
      const ref = { kind: job.kind, namespace: job.namespace, name, uid: job.uid };
      created.push(ref);
      return { job, ref, first: await awaitRunning(api, job, { withinMs: 120_000 }) };
    },
    seen,
    async suspend(job) {
      const tried = async () =>
        suspendJob(kube, { job, incident, attempt: 1, resourceVersion: (await seen(job)).resourceVersion });
      await eventually(
        () =>
          tried().then(
            () => 'suspended',
            (error: unknown) => String(error),
          ),
        (answer) => answer === 'suspended',
      );
    },
    gone: (ref) =>
      eventually(
        () => podsOfJob(kube, ref),
        ({ present, terminating }) => present.length + terminating.length === 0,
      ),
    ended: (ref, as) =>
      eventually(
        async () => (await seen(ref)).finished?.as,
        (end) => end === as,
      ),
    remove,
  };
}
