/** What kcover knows of a training job, whatever its kind. */

import type { JobOverrides } from './job-overrides.ts';
import type { JobProgress } from '../progress/progress.ts';
import type { AskedRestart } from '../progress/restart.ts';

/** Kinds of job that kcover can stop and restart, each with the word people type (`pytorchjob/llm`); `kube/jobs/kinds/` holds the rest of each. */
export const jobKindNames = {
  PyTorchJob: 'pytorchjob',
  TFJob: 'tfjob',
  MPIJob: 'mpijob',
  XGBoostJob: 'xgboostjob',
  PaddleJob: 'paddlejob',
  Job: 'job',
  JobSet: 'jobset',
  TrainJob: 'trainjob',
  LeaderWorkerSet: 'leaderworkerset',
  MPIJobV2beta1: 'mpijobv2beta1',
  VolcanoJob: 'volcanojob',
  RayJob: 'rayjob',
  RayCluster: 'raycluster',
} as const;
export type JobKind = keyof typeof jobKindNames;
export const jobKinds: readonly JobKind[] = Object.keys(jobKindNames).filter(
  (name): name is JobKind => name in jobKindNames,
);

/** One job object. The UID tells it from a job that is created again under the same name. */
export interface JobRef {
  readonly kind: JobKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** `pytorchjob/llm`, as people type it. */
export const jobTitle = (job: Pick<JobRef, 'kind' | 'name'>): string => `${jobKindNames[job.kind]}/${job.name}`;

/** Ways of stopping all pods of a job that its own controller does not take for a failure. */
export const stopMethods = ['suspend', 'delete-collection'] as const;
export type StopMethod = (typeof stopMethods)[number];

export type RestartPolicy = 'Never' | 'OnFailure' | 'Always' | 'ExitCode';

/** Who set `suspend` on a job. */
export type Suspension =
  | { readonly by: 'owner' }
  | { readonly by: 'kcover'; readonly incident: string; readonly attempt: number };

/** Why something cannot be done, or may go wrong, and what to change. */
export interface Reason {
  readonly because: string;
  readonly remedy: string;
}

/** The job object, read once. Pods are read separately (`AttemptPod`). */
export interface JobView {
  readonly ref: JobRef;
  readonly optedIn: boolean;
  /** RFC 3339: when the opt-in label was last set, as far as the object shows; never later than now. */
  readonly optedInAt: string;
  readonly finished?: { readonly as: 'succeeded' | 'failed'; readonly because: string };
  readonly suspension?: Suspension;
  /** Name of the queue system that owns `suspend`, if one does (Kueue's queue label). */
  readonly queue?: string;
  /** The strictest restart policy of its roles. */
  readonly restartPolicy: RestartPolicy;
  /** Pods of a complete attempt. */
  readonly podsExpected: number;
  /** True when a role's pods tolerate the quarantine taint, so that quarantine would not keep them off a bad node. */
  readonly toleratesQuarantine: boolean;
  /** Ways of stopping that work for it. */
  readonly canStopBy: readonly StopMethod[];
  /** Why its controller fails it when its pods are deleted, for another reason than the restart policy. */
  readonly failsWhenDeleted?: Reason;
  /** Why its own controller may fail it while it is stopped by suspend. */
  readonly unsafeSuspend?: Reason;
  /** Why a restart would not bring back all of its ranks. */
  readonly incomplete?: Reason;
  /** The pod whose success completes the job; without an index, any pod of the role. Missing where all have to succeed. */
  readonly succeedsWith?: PodRole;
  /** Accelerators that all its pods ask for; missing where they ask for none. */
  readonly gpus?: number;
  readonly overrides?: JobOverrides;
  /** How far training is, where it is reported. */
  readonly progress?: JobProgress;
  /** The last question to its processes to restart training in place. */
  readonly restart?: AskedRestart;
  readonly resourceVersion: string;
}

/** One pod of the present attempt. */
export interface AttemptPod {
  readonly name: string;
  readonly uid: string;
  /** Absent while it is not scheduled. */
  readonly node?: string;
}

/** One of a job's pods: its role in lower case, and its index within the role, where it has one. */
export interface PodRole {
  readonly role: string;
  readonly index?: number;
}
