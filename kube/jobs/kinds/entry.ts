/** The description of a kind of job. */

import type { KubernetesObject, V1Pod, V1PodTemplateSpec } from '@kubernetes/client-node';
import type {
  JobKind,
  JobRef,
  JobView,
  PodRole,
  Reason,
  RestartPolicy,
  StopMethod,
} from '../../../contract/job/jobs.ts';
import type { JobSizes, Labels } from '../../../contract/recovery/placement.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { IsRank } from './rank-containers.ts';

export interface JobKindEntry {
  readonly kind: JobKind;
  /** What kcover protects a job of the kind from, and what not: one sentence, shown by `kcover start` and `kcover doctor`. */
  readonly protection: string;
  /** Its kind in the API: kinds of several groups or versions may share one name there. */
  readonly objectKind: string;
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Labels that the pods of every job of the kind have, and few other pods. */
  readonly podsOfKind: string;
  /** The most specific labels that all pods of the job have, and no other job's pods should have. */
  readonly podSelector: (job: JobRef) => string;
  /** Whether a pod belongs to the job, where another object than the job controls it. */
  readonly owns?: (job: JobRef, pod: V1Pod) => boolean;
  /** Group and kind of what controls its pods, where that is no job; then only pods with the label of the kind may be deleted. */
  readonly podsControlledBy?: string;
  /** Its pods are controlled by jobs that it creates, and are observed with those. */
  readonly controlsNoPods?: true;
  /**
   * The name of the job that a pod belongs to, where neither the pod nor its controller gives the UID of the job. If the job is deleted and created
   * again, pods of the old one count as its own while they terminate.
   */
  readonly namedBy?: (pod: Pick<V1Pod, 'metadata'>) => string | undefined;
  /** The kind of the child job that it creates with its own name, and that owns the pods. */
  readonly childKind?: JobKind;
  /** The object as kcover sees it; pure. */
  readonly view: (object: KubernetesObject, taint: QuarantineTaint) => JobView;
  /** The part of a merge patch that suspends or resumes. Missing where the spec has no such field: then the kind cannot be stopped by suspend. */
  readonly suspend?: (suspended: boolean) => object;
  readonly isSuspended: (object: KubernetesObject) => boolean;
  /** Fields of the spec that `suspend` and `resizing` write, `*` for every key: an admission policy rejects changes of others by the worker. */
  readonly writes: readonly string[];
  /** Whether its controller retains ended pods when it stops: they do not belong to an attempt then. */
  readonly keepsEndedPods: boolean;
  /** Containers whose exit in a running pod is a failed rank. In a failed pod every container counts, in a succeeded pod none. */
  readonly isRank: IsRank;
  /** The role of the pod with these labels; undefined where the kind has no roles. */
  readonly roleOf: (labels: Readonly<Record<string, string>>) => PodRole | undefined;
  /** The pod whose success completes the job; without an index, any pod of the role. Undefined: all have to succeed. */
  readonly succeedsWith: (object: KubernetesObject) => PodRole | undefined;
  /** The roles of its next attempt; pure. */
  readonly roles: (object: KubernetesObject) => readonly JobRole[];
  /** Missing where neither size nor pod templates can be changed while a job of the kind is suspended. */
  readonly resizing?: Resizing;
}

/** How a job is resized; all pure. */
export interface Resizing {
  /** Missing where this job cannot be resized. */
  readonly sizes: (object: KubernetesObject) => JobSizes | undefined;
  /** Whether pod templates can be changed. */
  readonly templates: boolean;
  /** The part of a merge patch of the spec; without `pods` the size stays. The priority class is left out where templates cannot be changed. */
  readonly patch: (
    object: KubernetesObject,
    target: { readonly pods?: number; readonly priorityClass?: string },
  ) => object;
}

/** One role of a job: its pods and what happens when one ends. */
export interface JobRole {
  readonly replicas: number;
  readonly restartPolicy: RestartPolicy;
  readonly template: V1PodTemplateSpec | undefined;
  /** Labels that its controller adds to those of the template, except individual ones. */
  readonly labels: Labels;
  /** The role whose number of pods changes with the job's size. */
  readonly scales?: true;
}

/** Common parts of a view, as a kind fills them. */
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
