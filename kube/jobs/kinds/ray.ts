/** RayJob and RayCluster of ray.io/v1. Source: KubeRay 1.4.2. A RayJob creates a RayCluster, which owns the pods, and a batch Job that submits to it. */

import type { KubernetesObject, V1Pod, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobRef, JobView, Reason } from '../../../contract/job/jobs.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { controllerOf } from './owner-jobs.ts';
import { podRole } from './pod-role.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { specSuspend } from './suspend-field.ts';
import { restartPolicyOf, suspendUnlessQueued, viewOf } from './view.ts';

interface WorkerGroup {
  readonly groupName?: string;
  readonly replicas?: number;
  readonly minReplicas?: number;
  readonly numOfHosts?: number;
  readonly suspend?: boolean;
  readonly template?: V1PodTemplateSpec;
}

interface ClusterSpec {
  readonly headGroupSpec?: { readonly template?: V1PodTemplateSpec };
  readonly workerGroupSpecs?: readonly WorkerGroup[];
}

interface RayCluster extends KubernetesObject {
  readonly spec?: ClusterSpec;
}

interface RayJob extends KubernetesObject {
  readonly spec?: {
    readonly shutdownAfterJobFinishes?: boolean;
    readonly clusterSelector?: object;
    readonly rayClusterSpec?: ClusterSpec;
  };
  readonly status?: { readonly jobDeploymentStatus?: string; readonly jobStatus?: string; readonly reason?: string };
}

const label = (name: string): string => `ray.io/${name}`;

function rolesOf({ headGroupSpec, workerGroupSpecs = [] }: ClusterSpec = {}): readonly JobRole[] {
  const role = (group: string, replicas: number, template: V1PodTemplateSpec | undefined): JobRole => ({
    replicas,
    restartPolicy: restartPolicyOf(template?.spec?.restartPolicy, 'Always'),
    template,
    labels: { [label('group')]: group },
  });
  const workers = workerGroupSpecs.map(
    ({ groupName = '', replicas, minReplicas = 0, numOfHosts = 1, suspend, template }) =>
      role(groupName, suspend ? 0 : (replicas ?? minReplicas) * numOfHosts, template),
  );
  return [role('headgroup', 1, headGroupSpec?.template), ...workers];
}

const rolesOfCluster = (object: KubernetesObject): readonly JobRole[] => rolesOf((object as RayCluster).spec);
const rolesOfJob = (object: KubernetesObject): readonly JobRole[] => rolesOf((object as RayJob).spec?.rayClusterSpec);

const headDeleted: Reason = {
  because: 'what runs in a Ray cluster ends when its head is deleted',
  remedy: 'take the job out of the queue',
};

function clusterView(object: KubernetesObject, taint: QuarantineTaint): JobView {
  return viewOf(
    object,
    {
      kind: 'RayCluster',
      roles: rolesOfCluster(object),
      suspended: specSuspend.isSuspended(object),
      canStopBy: suspendUnlessQueued(object),
      failsWhenDeleted: headDeleted,
      finished: undefined,
    },
    taint,
  );
}

function jobView(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const refused = whyNotSuspended(object);
  return viewOf(
    object,
    {
      kind: 'RayJob',
      roles: rolesOfJob(object),
      suspended: specSuspend.isSuspended(object),
      canStopBy: refused ? [] : suspendUnlessQueued(object),
      failsWhenDeleted: refused ?? headDeleted,
      finished: finished(object),
    },
    taint,
  );
}

/** Source: `ValidateRayJobSpec`: if suspended, such a job is invalid, and the operator leaves it and its pods as they are. */
function whyNotSuspended(object: KubernetesObject): Reason | undefined {
  const { spec }: RayJob = object;
  if (Object.keys(spec?.clusterSelector ?? {}).length > 0)
    return {
      because: 'it runs in a Ray cluster that is not its own, and cannot be suspended',
      remedy: 'give it a rayClusterSpec, or opt in the RayCluster',
    };
  if (spec?.shutdownAfterJobFinishes !== true)
    return {
      because: 'KubeRay suspends no RayJob that keeps its Ray cluster',
      remedy: 'set shutdownAfterJobFinishes: true',
    };
  return undefined;
}

function finished(object: KubernetesObject): JobView['finished'] {
  const { jobDeploymentStatus, jobStatus, reason = jobStatus ?? '' } = (object as RayJob).status ?? {};
  if (jobDeploymentStatus !== 'Complete' && jobDeploymentStatus !== 'Failed') return undefined;
  return {
    as: jobStatus === 'SUCCEEDED' && jobDeploymentStatus === 'Complete' ? 'succeeded' : 'failed',
    because: reason || jobDeploymentStatus,
  };
}

/** The random suffix of the name of a job's cluster, which has no vowels (`GenerateRayClusterName`; older versions put `raycluster` before it). */
const ofCluster = /^-(raycluster-)?[bcdfghjklmnpqrstvwxz2456789]{5}$/;

/** Pods name only their Ray cluster: whether its name is one that the operator generates for this job. */
function ownsOfJob({ namespace, name }: JobRef, { metadata }: V1Pod): boolean {
  const owner = controllerOf(metadata?.ownerReferences);
  if (metadata?.namespace !== namespace || owner?.kind !== 'RayCluster' || !owner.apiVersion.startsWith('ray.io/'))
    return false;
  return owner.name.startsWith(`${name}-`) && ofCluster.test(owner.name.slice(name.length));
}

const common = {
  apiVersion: 'ray.io/v1',
  group: 'ray.io',
  version: 'v1',
  ...specSuspend,
  keepsEndedPods: false,
  isRank: asksForAccelerators,
  roleOf: (labels: Readonly<Record<string, string>>) => podRole(labels[label('group')]),
  succeedsWith: () => undefined,
} as const;

export const rayCluster: JobKindEntry = {
  ...common,
  kind: 'RayCluster',
  protection:
    'bad nodes and dying ranks restart the whole cluster; not protected: what was submitted to it is lost with its head, and has to be submitted again',
  objectKind: 'RayCluster',
  plural: 'rayclusters',
  podsOfKind: label('cluster'),
  podSelector: ({ name }) => `${label('cluster')}=${name}`,
  view: clusterView,
  roles: rolesOfCluster,
};

export const rayJob: JobKindEntry = {
  ...common,
  kind: 'RayJob',
  protection:
    'bad nodes and dying ranks restart cluster and job; not protected: a job that keeps its cluster or runs in another one, and one that Ray fails before it is stopped',
  objectKind: 'RayJob',
  plural: 'rayjobs',
  podsOfKind: `${label('is-ray-node')}=yes`,
  podSelector: () => `${label('is-ray-node')}=yes`,
  owns: ownsOfJob,
  controlsNoPods: true,
  view: jobView,
  roles: rolesOfJob,
};
