/** What kcover must know of a kind of job. */

import type { KubernetesObject, V1Pod, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobKind, JobRef, JobView, PodRole, Reason, RestartPolicy, StopMethod } from '../../contract/jobs.ts';
import type { JobSizes, Labels } from '../../contract/placement.ts';
import type { QuarantineTaint } from '../nodes.ts';
import type { IsRank } from './rank-containers.ts';

export interface JobKindEntry {
  readonly kind: JobKind;
  /** What kcover protects a job of the kind from, and what not: one sentence, which people read when they start one and in `kcover doctor`. */
  readonly protection: string;
  /** What the API server calls it: kinds of several groups or versions may have one name there. */
  readonly objectKind: string;
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Labels that the pods of every job of the kind carry, and few others. */
  readonly podsOfKind: string;
  /** The most specific labels that all pods of the job carry and no other job's pods should. */
  readonly podSelector: (job: JobRef) => string;
  /** Which pods belong to a job, where another object than the job controls them. */
  readonly owns?: (job: JobRef, pod: V1Pod) => boolean;
  /** What controls its pods, as group and kind, where that is no job; only such pods may be deleted that carry the label of the kind besides. */
  readonly podsControlledBy?: string;
  /** Its pods are controlled by jobs that it makes, and are seen with those. */
  readonly controlsNoPods?: true;
  /**
   * The name of the job that a pod belongs to, where neither the pod nor what controls it tells the UID of the job. There is one job of a name at a
   * time; pods of one that was deleted and created anew are taken for its own while they terminate.
   */
  readonly namedBy?: (pod: Pick<V1Pod, 'metadata'>) => string | undefined;
  /** The kind of the one job that it makes, under its own name: the pods are that one's. */
  readonly childKind?: JobKind;
  /** The object as kcover sees it; pure. */
  readonly view: (object: KubernetesObject, taint: QuarantineTaint) => JobView;
  /** The part of a merge patch that stops or lets go on. Missing where nothing in its spec does: then no job of the kind can be stopped by suspend. */
  readonly suspend?: (suspended: boolean) => object;
  readonly isSuspended: (object: KubernetesObject) => boolean;
  /** Fields of the spec that `suspend` and `reshaping` write, `*` for every key: an admission policy lets the worker change no others. */
  readonly writes: readonly string[];
  /** Whether its controller leaves pods that ended in place when it stops: they are no part of an attempt then. */
  readonly keepsEndedPods: boolean;
  /** Whose end in a running pod is a failed rank. In a pod that has failed every container counts, in one that has succeeded none. */
  readonly isRank: IsRank;
  /** Which pod of its job carries these labels; undefined where the kind has no roles. */
  readonly roleOf: (labels: Readonly<Record<string, string>>) => PodRole | undefined;
  /** Whose success is the job's success; without a number, any one of the role. Undefined: all have to succeed. */
  readonly succeedsWith: (object: KubernetesObject) => PodRole | undefined;
  /** What the pods of its next attempt are like; pure. */
  readonly roles: (object: KubernetesObject) => readonly JobRole[];
  /** Missing where neither size nor pod templates may be changed while a job of the kind is suspended. */
  readonly resizing?: Reshaping;
}

/** How a job is given another size; all pure. */
export interface Reshaping {
  /** Missing where this job cannot be given another one. */
  readonly sizes: (object: KubernetesObject) => JobSizes | undefined;
  /** Whether pod templates may be changed. */
  readonly templates: boolean;
  /** The part of a merge patch of the spec; without `pods` the size stays. A class for pods is left out where templates may not be changed. */
  readonly patch: (object: KubernetesObject, target: { readonly pods?: number; readonly priorityClass?: string }) => object;
}

/** One role of a job: its pods and what happens when one ends. */
export interface JobRole {
  readonly replicas: number;
  readonly restartPolicy: RestartPolicy;
  readonly template: V1PodTemplateSpec | undefined;
  /** What its controller adds to those of the template, but for what every pod has of its own. */
  readonly labels: Labels;
  /** Another size of the job is another number of these. */
  readonly scales?: true;
}

/** How a kind fills the parts of a view that every kind has. */
export interface ViewParts {
  readonly kind: JobKind;
  readonly roles: readonly JobRole[];
  readonly suspended: boolean;
  readonly canStopBy: readonly StopMethod[];
  readonly failsWhenDeleted?: Reason | undefined;
  readonly unsafeSuspend?: Reason | undefined;
  readonly incomplete?: Reason | undefined;
  readonly finished: JobView['finished'];
  readonly succeedsWith?: PodRole | undefined;
}
