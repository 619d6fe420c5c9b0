/** What a job asks for its own recovery: annotations, and the labels of the reference systems beside them. What the operator allows decides. */

/** `force`: pods are deleted at once, with no time to save anything. `off`: nothing is done unless a person asks. */
export const recoveryModes = ['grace', 'force', 'off'] as const;
export type RecoveryMode = (typeof recoveryModes)[number];

/**
 * What is done for a checkpoint before a stop. `fresh`: the next one is awaited while that costs less than it saves. `dying-gasp`: the trainer
 * saves when it is told to end, and that is awaited.
 */
export const checkpointStrategies = ['none', 'fresh', 'on-termination'] as const;
export type CheckpointStrategy = (typeof checkpointStrategies)[number];

/** Where there is no room for a whole attempt: wait before the stop, take stand-by nodes, go on with fewer pods, ask a person, or stop all the same. */
export const capacityChoices = ['hold', 'standby', 'shrink', 'ask', 'restart'] as const;
export type CapacityChoice = (typeof capacityChoices)[number];

/** What is restarted, the gentlest first: training inside its processes, the broken pods, all pods of the job. */
export const restartLevels = ['process', 'pod', 'job'] as const;
export type RestartLevel = (typeof restartLevels)[number];

/** What training that stands still leads to. */
export const hangResponses = ['ignore', 'notify', 'recover'] as const;
export type HangResponse = (typeof hangResponses)[number];

/** Names of the annotations; `kube/job-overrides.ts` reads them. */
export const overrideAnnotations = {
  mode: 'kcover.io/mode',
  checkpoint: 'kcover.io/checkpoint',
  capacity: 'kcover.io/capacity',
  minReplicas: 'kcover.io/min-replicas',
  allowedSizes: 'kcover.io/shapes',
  level: 'kcover.io/first-level',
  hang: 'kcover.io/hang',
  retries: 'kcover.io/retries',
} as const;

/** The same in the words of the reference systems: labels, and one annotation. Ours win. */
export const referenceOverrides = {
  mode: 'fault-scheduling',
  elastic: 'elastic-scheduling',
  retries: 'fault-retry-times',
  podLevel: 'pod-rescheduling',
  minReplicas: 'minReplicas',
} as const;

/** Everything may be missing. */
export interface JobOverrides {
  readonly mode?: RecoveryMode;
  readonly checkpoint?: CheckpointStrategy;
  readonly capacity?: CapacityChoice;
  /** Pods that a whole attempt must have at least; from 1. */
  readonly minReplicas?: number;
  /** Numbers of pods with which the job can run, the largest first. Empty: no smaller size, for what it says of sizes cannot be used. */
  readonly allowedSizes?: readonly number[];
  /** The gentlest level that is tried. */
  readonly level?: RestartLevel;
  readonly hang?: HangResponse;
  /** Recoveries in the budget's window that its own code may cause, 0 to 100. */
  readonly retries?: number;
  /** What was not understood, or contradicts something else, a sentence each; at most 10. */
  readonly ignored: readonly string[];
}
