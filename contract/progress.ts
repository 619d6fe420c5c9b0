/** Progress of training: a trainer writes a small file on its node, and the controller keeps annotations on the job, which anybody else may patch too. */

/** Directory of the progress files below the host root: `<namespace>/<job>-<rank>.json`. */
export const progressDirectory = '/var/lib/kcover/progress';

/** Bytes that a progress file may have. */
export const progressFileBytes = 4096;

/** What the trainer does just now. In another phase than `training` no step is expected. */
export const progressPhases = ['training', 'checkpointing', 'evaluating', 'compiling'] as const;
export type ProgressPhase = (typeof progressPhases)[number];

/** One progress file. */
export interface Progress {
  /** Steps that are done; an integer from 0. */
  readonly step: number;
  /** The step that the last whole checkpoint holds. */
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
  /** What the trainer does, where it says so. */
  readonly phase?: ProgressPhase;
  readonly pace?: Pace;
  /** UID of the pod that told the step; absent where it was not kcover that wrote. */
  readonly pod?: string;
}

/** How fast training goes, as the controller has seen it in this attempt or an earlier one: medians of the last reports. */
export interface Pace {
  readonly msPerStep: number;
  /** Between two checkpoints. */
  readonly stepsPerCheckpoint?: number;
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

/** Answer 200: for each file, in their order, whether it counts. Not one of no pod of the present attempt, or written before its container started. */
export interface ProgressAnswer {
  readonly counted: readonly boolean[];
}
