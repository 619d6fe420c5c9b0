/** TrainJob of trainer.kubeflow.org/v1alpha1: it creates a JobSet of its own name, whose pods are its pods. Source: trainer 2.0 and the main branch. */

import type {
  KubernetesObject,
  V1ObjectMeta,
  V1PodSpec,
  V1PodTemplateSpec,
  V1ResourceRequirements,
} from '@kubernetes/client-node';
import type { JobView, Reason } from '../../../contract/job/jobs.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { failsWhenDeleted, isOfSet, jobSet, labelsOfSet, podsOfSets, selectorOfSet } from './jobset.ts';
import { specSuspend } from './suspend-field.ts';
import { type Condition, finishedBy, suspendUnlessQueued, viewOf } from './view.ts';

/** A partial pod template that is merged over that of the runtime. */
interface Patch {
  readonly metadata?: V1ObjectMeta;
  readonly spec?: Partial<V1PodSpec>;
}

interface TrainJob extends KubernetesObject {
  readonly spec?: {
    readonly trainer?: { readonly numNodes?: number; readonly resourcesPerNode?: V1ResourceRequirements };
    /** Their names over the versions: 2.0, 2.1, and later. */
    readonly podSpecOverrides?: readonly Partial<V1PodSpec>[];
    readonly podTemplateOverrides?: readonly Patch[];
    readonly runtimePatches?: readonly RuntimePatch[];
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

interface RuntimePatch {
  readonly trainingRuntimeSpec?: {
    readonly template?: {
      readonly spec?: {
        readonly replicatedJobs?: readonly { readonly template?: { readonly spec?: { readonly template?: Patch } } }[];
      };
    };
  };
}

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const job: TrainJob = object;
  return viewOf(
    object,
    {
      kind: 'TrainJob',
      roles: roles(object),
      suspended: specSuspend.isSuspended(object),
      canStopBy: suspendUnlessQueued(object),
      failsWhenDeleted,
      unsafeSuspend: nodesOf(job) > 1 ? unknownLimits : undefined,
      finished: finishedBy(job.status?.conditions, 'Complete', 'Failed'),
    },
    taint,
  );
}

/** The limits of its batch Jobs are defined in the runtime that it names. */
const unknownLimits: Reason = {
  because:
    'its runtime sets when its batch Jobs fail because ranks exit with an error while they are suspended, and the TrainJob does not show that',
  remedy:
    'give the job templates of its runtime a backoffLimit of twice its nodes, and set recovery.unsafeSuspend.TrainJob: stop',
};

/** Its templates are defined in the runtime that it names; the object itself has only the number of nodes, their resources, and overrides. */
function roles(object: KubernetesObject): readonly JobRole[] {
  const job: TrainJob = object;
  const { spec = {} } = job;
  const replicas = nodesOf(job);
  const common = { restartPolicy: 'OnFailure', labels: labelsOfSet(job.metadata?.name ?? '', 'node') } as const;
  const resources = spec.trainer?.resourcesPerNode;
  const node = { spec: { containers: [{ name: 'node', ...(resources && { resources }) }] } };
  const patches: readonly Patch[] = [
    ...(spec.podSpecOverrides ?? []).map((pod) => ({ spec: pod })),
    ...(spec.podTemplateOverrides ?? []),
    ...(spec.runtimePatches ?? []).flatMap(templatesOf),
  ];
  return [
    { ...common, replicas, template: node },
    ...patches.map((patch) => ({ ...common, replicas: 0, template: templateOf(patch) })),
  ];
}

const nodesOf = ({ spec }: TrainJob): number => spec?.trainer?.numNodes ?? 1;

const templatesOf = ({ trainingRuntimeSpec }: RuntimePatch): Patch[] =>
  (trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? []).flatMap((each) => each.template?.spec?.template ?? []);

const templateOf = ({ metadata, spec }: Patch): V1PodTemplateSpec => ({
  ...(metadata && { metadata }),
  spec: { containers: [], ...spec },
});

export const trainJob: JobKindEntry = {
  kind: 'TrainJob',
  protection:
    'bad nodes and dying ranks restart the whole job; not protected: a batch Job of it that fails by the backoffLimit of its runtime before it is stopped',
  objectKind: 'TrainJob',
  apiVersion: 'trainer.kubeflow.org/v1alpha1',
  group: 'trainer.kubeflow.org',
  version: 'v1alpha1',
  plural: 'trainjobs',
  podsOfKind: podsOfSets,
  podSelector: selectorOfSet,
  owns: isOfSet,
  controlsNoPods: true,
  childKind: 'JobSet',
  view,
  ...specSuspend,
  keepsEndedPods: true,
  isRank: asksForAccelerators,
  roleOf: jobSet.roleOf,
  succeedsWith: () => undefined,
  roles,
};
