/** What a job requests for its own recovery: annotations, and the labels of the reference systems. The operator's settings limit it. */

import type { LogChoice } from '../progress/logs.ts';

/** `force`: pods are deleted at once, with no time to save anything. `off`: nothing is done unless a person asks. */
export const recoveryModes = ['grace', 'force', 'off'] as const;
export type RecoveryMode = (typeof recoveryModes)[number];

/**
 * What is done for a checkpoint before a stop. `fresh`: wait for the next one while that costs less than it saves. `on-termination`: the
 * trainer saves a final checkpoint on SIGTERM, and kcover waits for it (Ascend calls this the dying gasp).
 */
export const checkpointStrategies = ['none', 'fresh', 'on-termination'] as const;
export type CheckpointStrategy = (typeof checkpointStrategies)[number];

/** Without capacity for a complete attempt: wait before the stop, take standby nodes, continue with fewer pods, ask a person, or restart anyway. */
export const capacityChoices = ['hold', 'standby', 'shrink', 'ask', 'restart'] as const;
export type CapacityChoice = (typeof capacityChoices)[number];

/** What is restarted, smallest effect first: training inside its processes, the broken pods, all pods of the job. */
export const restartLevels = ['process', 'pod', 'job'] as const;
export type RestartLevel = (typeof restartLevels)[number];

/** Response to training that makes no progress. */
export const hangResponses = ['ignore', 'notify', 'recover'] as const;
export type HangResponse = (typeof hangResponses)[number];

/** Whether training that has become slower is reported. */
export const slowResponses = ['ignore', 'notify'] as const;
export type SlowResponse = (typeof slowResponses)[number];

/** Names of the annotations; `kube/jobs/overrides.ts` reads them. */
export const overrideAnnotations = {
  mode: 'kcover.io/mode',
  checkpoint: 'kcover.io/checkpoint',
  capacity: 'kcover.io/capacity',
  minReplicas: 'kcover.io/min-replicas',
  allowedSizes: 'kcover.io/shapes',
  level: 'kcover.io/first-level',
  hang: 'kcover.io/hang',
  slow: 'kcover.io/slow',
  retries: 'kcover.io/retries',
  suppression: 'kcover.io/suppress',
  notify: 'kcover.io/notify',
  logFormat: 'kcover.io/log-format',
  logStep: 'kcover.io/log-step',
  logCheckpoint: 'kcover.io/log-checkpoint',
} as const;

/** The names of the reference systems for the same: labels, and one annotation. Ours take precedence. */
export const referenceOverrides = {
  mode: 'fault-scheduling',
  elastic: 'elastic-scheduling',
  retries: 'fault-retry-times',
  podLevel: 'pod-rescheduling',
  minReplicas: 'minReplicas',
} as const;

/** `xid/94,pod/exit until 2026-12-01T00:00:00Z: reason` */
export interface JobSuppression {
  /** Codes; one that ends with `*` stands for all that begin so. */
  readonly codes: readonly string[];
  /** RFC 3339. */
  readonly until: string;
  readonly reason: string;
}

/** Everything may be missing. */
export interface JobOverrides {
  readonly mode?: RecoveryMode;
  readonly checkpoint?: CheckpointStrategy;
  readonly capacity?: CapacityChoice;
  /** Least number of pods of an attempt; from 1. */
  readonly minReplicas?: number;
  /** Numbers of pods with which the job can run, largest first. Empty: the annotation cannot be used, so no smaller size is allowed. */
  readonly allowedSizes?: readonly number[];
  /** The first level that is tried. */
  readonly level?: RestartLevel;
  readonly hang?: HangResponse;
  readonly slow?: SlowResponse;
  /** Recoveries in the budget's window that blame its own code, 0 to 100. */
  readonly retries?: number;
  /** Faults that lead to nothing until a time. */
  readonly suppression?: JobSuppression;
  /** Names of the routes of notifications that its owner wants to get; at most 5. */
  readonly notify?: readonly string[];
  /** How the logs of its ranks are read. */
  readonly logFormat?: LogChoice;
  /** Patterns of its own for them, as `LogPatterns` has them. */
  readonly logStep?: string;
  readonly logCheckpoint?: string;
  /** Values that cannot be used or contradict another, a sentence each; at most 10. */
  readonly ignored: readonly string[];
}
