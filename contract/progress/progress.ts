/** Progress of training: a trainer writes a small file on its node, and the controller writes annotations on the job, which other programs may patch too. */

/** Directory of the progress files below the host root: `<namespace>/<job>-<rank>.json`. */
export const progressDirectory = '/var/lib/kcover/progress';

/** Most bytes of a progress file. */
export const progressFileBytes = 4096;

/** What the trainer does now. Steps are expected only in `training`. */
export const progressPhases = ['training', 'checkpointing', 'evaluating', 'compiling'] as const;
export type ProgressPhase = (typeof progressPhases)[number];

/** One progress file. */
export interface Progress {
  /** Completed steps; an integer from 0. */
  readonly step: number;
  /** Step of the last complete checkpoint. */
  readonly checkpointStep?: number;
  /** RFC 3339, the node's clock. */
  readonly checkpointAt?: string;
  /** RFC 3339, the node's clock. */
  readonly at: string;
  readonly phase?: ProgressPhase;
}

/** What a job's annotations say. */
export interface JobProgress {
  readonly step: number;
  readonly checkpointStep?: number;
  /** RFC 3339. */
  readonly at: string;
  /** What the trainer does, where it reports it. */
  readonly phase?: ProgressPhase;
  readonly pace?: Pace;
  /** UID of the pod that reported the step; absent where another program wrote the annotation. */
  readonly pod?: string;
}

/** Speed of training in this attempt or an earlier one: medians of the last reports, as the controller observed them. */
export interface Pace {
  readonly msPerStep: number;
  /** Between two checkpoints. */
  readonly stepsPerCheckpoint?: number;
  /** While training is slower than it was in this attempt. `since`: RFC 3339. */
  readonly slow?: { readonly since: string; readonly bestMsPerStep: number };
}

/** Value of the annotation `kcover.io/training`. */
export type TrainingNote = Pick<JobProgress, 'phase' | 'pace' | 'pod'>;

/** What agents send: `POST /v1/progress`. Only the newest counts, so nothing is acknowledged and nothing is spooled. */
export const progressPath = '/v1/progress';

export interface ProgressFile {
  readonly namespace: string;
  /** Name of the job, as the pods' workload name in a preflight report. */
  readonly job: string;
  readonly rank: number;
  /** RFC 3339, ms, the node's clock: when the file was written. */
  readonly writtenAt: string;
  readonly progress: Progress;
}

export interface ProgressFiles {
  readonly schema: 1;
  readonly node: string;
  /** At most 100. */
  readonly files: readonly ProgressFile[];
}

/** Answer 200: for each file, in order, whether it counts. A file counts if a pod of the present attempt wrote it after its container started. */
export interface ProgressAnswer {
  readonly counted: readonly boolean[];
}
