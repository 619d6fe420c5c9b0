/**
 * LeaderWorkerSet of leaderworkerset.x-k8s.io/v1. Source: version 0.7.0. A StatefulSet of its name owns the leaders, and each leader owns a
 * StatefulSet of its own name with its workers. It has no `suspend`: zero groups mean no pods.
 */

import type { KubernetesObject, V1Pod, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobRef, JobView, Reason } from '../../../contract/job/jobs.ts';
import { isObjectName } from '../../../contract/object-names.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { controllerOf } from './owner-jobs.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { suspendUnlessQueued, viewOf } from './view.ts';

interface LeaderWorkerSet extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly leaderWorkerTemplate?: {
      readonly size?: number;
      readonly leaderTemplate?: V1PodTemplateSpec;
      readonly workerTemplate?: V1PodTemplateSpec;
    };
  };
}

const label = (name: string): string => `leaderworkerset.sigs.k8s.io/${name}`;
const podsOfKind = label('name');

/** The set that the pod names, if a StatefulSet with a matching name controls the pod: the label alone can be forged. */
function namedBy({ metadata }: Pick<V1Pod, 'metadata'>): string | undefined {
  const name = metadata?.labels?.[podsOfKind];
  const owner = controllerOf(metadata?.ownerReferences);
  if (
    name === undefined ||
    !isObjectName(name) ||
    owner?.kind !== 'StatefulSet' ||
    !owner.apiVersion.startsWith('apps/')
  )
    return undefined;
  const isLeaders = owner.name === name;
  const isWorkers = owner.name.startsWith(`${name}-`) && /^\d+$/.test(owner.name.slice(name.length + 1));
  return isLeaders || isWorkers ? name : undefined;
}

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const groups = groupsOf(object);
  return viewOf(
    object,
    {
      kind: 'LeaderWorkerSet',
      roles: roles(object),
      suspended: isSuspended(object),
      canStopBy: groups > 1 ? [] : suspendUnlessQueued(object),
      failsWhenDeleted: groups > 1 ? severalGroups(groups) : recreatedMeanwhile,
      finished: undefined,
    },
    taint,
  );
}

/** Ranks communicate within a group only: a fault of one group does not affect the others. */
const severalGroups = (groups: number): Reason => ({
  because: `its ${groups} groups work independently, and all of them would be stopped`,
  remedy: 'make a LeaderWorkerSet with one group for each training job',
});

const recreatedMeanwhile: Reason = {
  because: 'its controller deletes a recreated group while pods of the previous one are still terminating',
  remedy: 'take the job out of the queue',
};

function groupsOf(object: KubernetesObject): number {
  const { spec }: LeaderWorkerSet = object;
  return spec?.replicas ?? 1;
}

/** Roles of its one group, also while it is stopped. */
function roles(object: KubernetesObject): readonly JobRole[] {
  const { metadata, spec }: LeaderWorkerSet = object;
  const { size = 1, leaderTemplate, workerTemplate } = spec?.leaderWorkerTemplate ?? {};
  const groups = Math.max(1, groupsOf(object));
  const common = { restartPolicy: 'Always', labels: { [podsOfKind]: metadata?.name ?? '' } } as const;
  return [
    { ...common, replicas: groups, template: leaderTemplate ?? workerTemplate },
    { ...common, replicas: groups * (size - 1), template: workerTemplate },
  ];
}

const isSuspended = (object: KubernetesObject): boolean => groupsOf(object) === 0;

export const leaderWorkerSet: JobKindEntry = {
  kind: 'LeaderWorkerSet',
  protection:
    'bad nodes and dying ranks restart the whole group of a set that has one; not protected: a set with several groups, and whether training is done, which it never reports',
  objectKind: 'LeaderWorkerSet',
  apiVersion: 'leaderworkerset.x-k8s.io/v1',
  group: 'leaderworkerset.x-k8s.io',
  version: 'v1',
  plural: 'leaderworkersets',
  podsOfKind,
  podSelector: ({ name }: JobRef) => `${podsOfKind}=${name}`,
  owns: ({ namespace, name }, pod) => pod.metadata?.namespace === namespace && namedBy(pod) === name,
  namedBy,
  podsControlledBy: 'apps/StatefulSet',
  view,
  // Only a set with one group is ever stopped.
  suspend: (suspended) => ({ replicas: suspended ? 0 : 1 }),
  isSuspended,
  writes: ['replicas'],
  keepsEndedPods: false,
  isRank: asksForAccelerators,
  roleOf: (labels) => {
    const index = labels[label('worker-index')];
    return index === undefined ? undefined : { role: index === '0' ? 'leader' : 'worker', index: Number(index) };
  },
  succeedsWith: () => undefined,
  roles,
};
