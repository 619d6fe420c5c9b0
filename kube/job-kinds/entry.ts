/** What kcover must know of a kind of job. */

import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobKind, JobRef, JobView, PodRole, RestartPolicy, StopMethod } from '../../contract/jobs.ts';

/** The taint of a quarantine, as settings have it. */
export interface QuarantineTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: 'NoSchedule' | 'NoExecute' | 'PreferNoSchedule';
}

export interface JobKindEntry {
  readonly kind: JobKind;
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Labels that the pods of every job of the kind carry, and few others. */
  readonly podsOfKind: string;
  /** The most specific labels that all pods of the job carry and no other job's pods should. */
  readonly podSelector: (job: JobRef) => string;
  /** The object as kcover sees it; pure. */
  readonly view: (object: KubernetesObject, taint: QuarantineTaint) => JobView;
  /** The part of a merge patch that stops or lets go on. */
  readonly suspend: (suspended: boolean) => object;
  readonly isSuspended: (object: KubernetesObject) => boolean;
  /** Whether its controller leaves pods that ended in place when it stops: they are no part of an attempt then. */
  readonly keepsEndedPods: boolean;
  /** Which pod of its job carries these labels; undefined where the kind has no roles. */
  readonly roleOf: (labels: Readonly<Record<string, string>>) => PodRole | undefined;
  /** Whose success is the job's success; without a number, any one of the role. Undefined: all have to succeed. */
  readonly succeedsWith: (object: KubernetesObject) => PodRole | undefined;
}

/** One role of a job: its pods and what happens when one ends. */
export interface JobRole {
  readonly replicas: number;
  readonly restartPolicy: RestartPolicy;
  readonly template: V1PodTemplateSpec | undefined;
}

/** How a kind fills the parts of a view that every kind has. */
export interface ViewParts {
  readonly kind: JobKind;
  readonly roles: readonly JobRole[];
  readonly podsExpected: number;
  readonly suspended: boolean;
  readonly canStopBy: readonly StopMethod[];
  readonly failsWhenDeleted?: JobView['failsWhenDeleted'];
  readonly finished: JobView['finished'];
}
