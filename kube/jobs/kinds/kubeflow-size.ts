/** Resizes a job of the Kubeflow training operator by its number of workers, whatever other roles it has. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobSizes } from '../../../contract/recovery/placement.ts';
import type { Resizing } from './entry.ts';
import type { KubeflowJob, KubeflowKind, ReplicaRole } from './kubeflow-job.ts';

/** In lower case. */
export const scalingRole = 'worker';

export const replicasOf = ({ fillsIn }: KubeflowKind, name: string, { replicas }: ReplicaRole): number =>
  replicas ?? fillsIn.replicas?.[name] ?? 1;

/** Roles with their names as in the object, in any case. */
const rolesAsWritten = (
  { roles }: KubeflowKind,
  { spec }: KubeflowJob,
): (readonly [name: string, role: ReplicaRole])[] =>
  Object.entries((spec?.[roles] ?? {}) as Readonly<Record<string, ReplicaRole>>);

export const kubeflowResizing = (data: KubeflowKind): Resizing => ({
  templates: true,
  sizes: (object) => sizes(data, object),
  patch: (object, { pods, priorityClass }) => {
    const job: KubeflowJob = object;
    const workers = pods === undefined ? undefined : workersAt(data, job, pods);
    const roles = rolesAsWritten(data, job).map(([name]) => [
      name,
      {
        ...(workers !== undefined && name.toLowerCase() === scalingRole && { replicas: workers }),
        ...(priorityClass !== undefined && { template: { spec: { priorityClassName: priorityClass } } }),
      },
    ]);
    return { [data.roles]: Object.fromEntries(roles), ...(pods !== undefined && smallerGang(job, pods)) };
  },
});

/** Fields that the patch above writes. */
export const writesOfSize = ({ roles }: KubeflowKind): readonly string[] => [
  `${roles}.*.replicas`,
  `${roles}.*.template.spec.priorityClassName`,
  'runPolicy.schedulingPolicy.minAvailable',
];

/** A gang scheduler that waits for more pods than exist would wait forever. */
function smallerGang({ spec }: KubeflowJob, pods: number): object {
  const minAvailable = spec?.runPolicy?.schedulingPolicy?.minAvailable ?? 0;
  return minAvailable > pods ? { runPolicy: { schedulingPolicy: { minAvailable: pods } } } : {};
}

const podsIn = (data: KubeflowKind, job: KubeflowJob): number =>
  rolesAsWritten(data, job).reduce((sum, [name, role]) => sum + countOf(data, name, role), 0);
const workersIn = (data: KubeflowKind, job: KubeflowJob): number =>
  rolesAsWritten(data, job).reduce(
    (sum, [name, role]) => (name.toLowerCase() === scalingRole ? sum + countOf(data, name, role) : sum),
    0,
  );
const countOf = (data: KubeflowKind, name: string, role: ReplicaRole): number =>
  replicasOf(data, name.toLowerCase(), role);

const workersAt = (data: KubeflowKind, job: KubeflowJob, pods: number): number =>
  pods - (podsIn(data, job) - workersIn(data, job));

function sizes(data: KubeflowKind, object: KubernetesObject): JobSizes | undefined {
  const job: KubeflowJob = object;
  const workers = workersIn(data, job);
  // The owner set resources of the whole gang, which fewer pods could never reach.
  if (workers === 0 || job.spec?.runPolicy?.schedulingPolicy?.minResources) return undefined;
  const now = podsIn(data, job);
  return { now, least: now - workers + Math.min(workers, leastWorkers(job, workers)) };
}

/** As the operator does: with one bound the other is the same; with none both are the present number. */
function leastWorkers({ spec }: KubeflowJob, workers: number): number {
  const elastic = spec?.elasticPolicy ?? undefined;
  return elastic ? Math.max(1, elastic.minReplicas ?? elastic.maxReplicas ?? workers) : 1;
}
