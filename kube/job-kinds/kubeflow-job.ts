/** Jobs of the Kubeflow training operator as objects, and what is particular to each of their kinds. */

import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobKind, RestartPolicy } from '../../contract/jobs.ts';
import type { Condition } from './view.ts';

/** What is particular to one kind. */
export interface KubeflowKind {
  readonly kind: JobKind;
  /** What it is not protected from. */
  readonly unprotected: string;
  /** The field of its spec that holds its roles. */
  readonly roles: string;
  /** The container whose exit code the operator reads. */
  readonly container: string;
  /** What the operator takes where a role says nothing; one replica unless told, by role. */
  readonly fillsIn: { readonly restartPolicy: RestartPolicy; readonly replicas?: Readonly<Record<string, number>> };
  /** With these, and no other, restart policies its controller creates deleted pods anew, whatever they exit with (but for 0). */
  readonly recreatesWith: readonly RestartPolicy[];
  /** The first rule that fits the job says whose success is the job's; where none does, all pods have to succeed. */
  readonly succeedsWith: readonly SuccessRule[];
}

/** Holds for a job that has the role. */
export interface SuccessRule {
  readonly role: string;
  readonly index?: number;
  /** Only where the spec has this field. */
  readonly given?: string;
  /** Not where a field of the spec has this value. */
  readonly unless?: Readonly<Record<string, string>>;
}

export interface ReplicaRole {
  readonly replicas?: number;
  readonly restartPolicy?: string;
  readonly template?: V1PodTemplateSpec;
}

/** What a gang scheduler waits for. */
interface SchedulingPolicy {
  readonly minAvailable?: number;
  readonly minResources?: Readonly<Record<string, unknown>>;
}

export interface KubeflowJob extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly runPolicy?: { readonly backoffLimit?: number; readonly schedulingPolicy?: SchedulingPolicy };
    readonly elasticPolicy?: { readonly minReplicas?: number; readonly maxReplicas?: number };
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const kubeflowLabel = (name: string): string => `training.kubeflow.org/${name}`;
