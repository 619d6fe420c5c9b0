/** What the effects of a recovery need of the world around it: Temporal in the workflow, assumed answers in `kcover plan`. Pure. */

import type { Activities } from '../../contract/wire/activities.ts';

/** The activities of a recovery. */
export type RecoveryActivities = Pick<
  Activities,
  | 'observeAttempt'
  | 'listPods'
  | 'askProcesses'
  | 'captureEvidence'
  | 'awaitCheckpoint'
  | 'observeCapacity'
  | 'joinWave'
  | 'takeStandbyNodes'
  | 'stopAttempt'
  | 'resizeJob'
  | 'resumeJob'
  | 'awaitAttempt'
  | 'verifyProgress'
  | 'recordIncident'
>;

type Name = keyof RecoveryActivities;

export interface Tools extends Pick<Activities, 'decideRecovery' | 'decideCapacity'> {
  /** ms */
  now(): number;
  /** `summary`: the sentence that the Temporal UI shows beside the activity. */
  perform<N extends Name>(name: N, summary: string, request: Parameters<Activities[N]>[0]): ReturnType<Activities[N]>;
  /** Undefined when the activity failed for good. */
  tolerate<T>(work: Promise<T>): Promise<T | undefined>;
  /** Waits until something is due, at most `ms`; false when that time has passed. */
  wait(isDue: () => boolean, ms: number, summary?: string): Promise<boolean>;
  /** Waits for `work`, unless something changes first: then it is cancelled. */
  unlessChanged<T>(hasChanged: () => boolean, work: () => Promise<T>): Promise<T | 'changed'>;
  /** Does `beside` for as long as `work` takes. */
  alongside<T>(work: () => Promise<T>, beside: () => Promise<void>): Promise<T>;
  /** A signal that does not arrive changes nothing. */
  signal(workflowId: string, name: string, payload: object): Promise<void>;
  /** Resolves when every Event was written, or given up. */
  allAnnounced(): Promise<void>;
}
