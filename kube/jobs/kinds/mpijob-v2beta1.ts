/**
 * MPIJob of kubeflow.org/v2beta1, whose controller is the mpi-operator: a different API from the MPIJob of the training operator, with a CRD of
 * the same name, so that a cluster has only one of the two. A batch Job owns the launcher. Source: version 0.6.0.
 */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobView, Reason } from '../../../contract/job/jobs.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { kubeflowLabel, type ReplicaRole } from './kubeflow-job.ts';
import { controllerOf } from './owner-jobs.ts';
import { unsafeLauncher } from './own-failures.ts';
import { podRole } from './pod-role.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { runPolicySuspend } from './suspend-field.ts';
import { type Condition, finishedBy, restartPolicyOf, suspendUnlessQueued, viewOf } from './view.ts';

interface MPIJob extends KubernetesObject {
  readonly spec?: {
    readonly runPolicy?: { readonly backoffLimit?: number; readonly cleanPodPolicy?: string };
    readonly mpiReplicaSpecs?: Readonly<Record<string, ReplicaRole>>;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const podsOfKind = `${kubeflowLabel('operator-name')}=mpi-operator`;

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const { spec, status }: MPIJob = object;
  const podsOf = roles(object);
  return viewOf(
    object,
    {
      kind: 'MPIJobV2beta1',
      roles: podsOf,
      suspended: runPolicySuspend.isSuspended(object),
      canStopBy: suspendUnlessQueued(object),
      failsWhenDeleted: {
        because: 'its launcher is a batch Job, which counts deleted pods as failures',
        remedy: 'take the job out of the queue',
      },
      unsafeSuspend: unsafeLauncher({
        restartPolicy: podsOf[0]?.restartPolicy,
        backoffLimit: spec?.runPolicy?.backoffLimit,
      }),
      incomplete: spec?.runPolicy?.cleanPodPolicy === 'Running' ? failedWorkersStay : undefined,
      finished: finishedBy(status?.conditions, 'Succeeded', 'Failed'),
      succeedsWith: { role: 'launcher' },
    },
    taint,
  );
}

/** `deleteWorkerPods` keeps them, and `getOrCreateWorker` then counts them as present workers. */
const failedWorkersStay: Reason = {
  because: 'with cleanPodPolicy Running a failed worker stays and blocks its replacement',
  remedy: 'set runPolicy.cleanPodPolicy to None or All',
};

function roles(object: KubernetesObject): readonly JobRole[] {
  const { metadata, spec }: MPIJob = object;
  const role = (
    name: 'Launcher' | 'Worker',
    usual: { readonly restartPolicy: 'OnFailure' | 'Never'; readonly replicas: number },
  ): JobRole => {
    const { replicas = usual.replicas, restartPolicy, template } = spec?.mpiReplicaSpecs?.[name] ?? { replicas: 0 };
    return {
      replicas,
      restartPolicy: restartPolicyOf(restartPolicy, usual.restartPolicy),
      template,
      labels: {
        [kubeflowLabel('operator-name')]: 'mpi-operator',
        [kubeflowLabel('job-name')]: metadata?.name ?? '',
        [kubeflowLabel('job-role')]: name.toLowerCase(),
      },
    };
  };
  return [
    role('Launcher', { restartPolicy: 'OnFailure', replicas: 1 }),
    role('Worker', { restartPolicy: 'Never', replicas: 0 }),
  ];
}

export const mpiJobV2beta1: JobKindEntry = {
  kind: 'MPIJobV2beta1',
  protection:
    'bad nodes and dying ranks restart launcher and workers; not protected: an evicted worker fails it, and every mpirun that dies uses one of runPolicy.backoffLimit',
  objectKind: 'MPIJob',
  apiVersion: 'kubeflow.org/v2beta1',
  group: 'kubeflow.org',
  version: 'v2beta1',
  plural: 'mpijobs',
  podsOfKind,
  podSelector: ({ name }) => `${kubeflowLabel('job-name')}=${name},${podsOfKind}`,
  // The batch Job of the launcher has a name of its own: other pods have neither these labels nor such an owner.
  owns: (job, { metadata }) => {
    const owner = controllerOf(metadata?.ownerReferences);
    if (metadata?.namespace !== job.namespace || metadata.labels?.[kubeflowLabel('job-name')] !== job.name)
      return false;
    return (
      owner?.uid === job.uid ||
      (owner?.kind === 'Job' && owner.apiVersion.startsWith('batch/') && owner.name === `${job.name}-launcher`)
    );
  },
  view,
  ...runPolicySuspend,
  // Failed launchers are retained by their batch Job.
  keepsEndedPods: true,
  isRank: asksForAccelerators,
  roleOf: (labels) => podRole(labels[kubeflowLabel('job-role')], labels[kubeflowLabel('replica-index')]),
  succeedsWith: () => ({ role: 'launcher' }),
  roles,
};
