/** Jobs of the Kubeflow training operator as objects, and the data that differs between their kinds. */

import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobKind, RestartPolicy } from '../../../contract/job/jobs.ts';
import type { Condition } from './view.ts';

/** The data of one kind. */
export interface KubeflowKind {
  readonly kind: JobKind;
  /** Failures that it is not protected from. */
  readonly unprotected: string;
  /** The field of its spec that holds its roles. */
  readonly roles: string;
  /** The container whose exit code the operator reads. */
  readonly container: string;
  /** The operator's defaults of a role; one replica unless given here, by role. */
  readonly fillsIn: { readonly restartPolicy: RestartPolicy; readonly replicas?: Readonly<Record<string, number>> };
  /** Only with these restart policies its controller recreates deleted pods, whatever their exit code (except 0). */
  readonly recreatesWith: readonly RestartPolicy[];
  /** The first matching rule gives the pod whose success completes the job; without a match all pods have to succeed. */
  readonly succeedsWith: readonly SuccessRule[];
}

/** Matches a job that has the role. */
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

/** Least number of pods that a gang scheduler waits for. */
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
