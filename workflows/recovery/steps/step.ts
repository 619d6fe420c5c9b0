/**
 * A step of a recovery: what is done before an attempt is stopped, or between its stop and the next attempt. Pure: what its effects need of
 * Temporal they are given, so that `kcover plan` runs the same steps offline.
 */

import type { Announcement } from '../../../contract/wire/activities.ts';
import type { eventReasons } from '../../../contract/ids.ts';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import type { RecoveryPlan } from '../../../contract/recovery/plan.ts';
import type {
  AttemptFacts,
  IncidentRecord,
  RecoveryDecision,
  RecoveryStatus,
} from '../../../contract/recovery/recovery.ts';
import type { End } from '../end.ts';
import type { IncidentData, Showing, TriedLevel } from '../incident.ts';
import type { Asking } from '../questions.ts';
import type { Tools } from '../tools.ts';

/** One step. `Data`: what it remembers of the incident, serialisable. `Change`: what changes that. */
export interface Step<Name extends string, Data, Change extends { readonly kind: string }> {
  readonly name: Name;
  readonly first: Data;
  /** The data after a change of its own, or after something that every step may have to follow. */
  next(data: Data, change: Change | CommonChange): Data;

  /** Whether `before` belongs to what was decided. */
  appliesTo(decision: Preparable): boolean;
  /** Before the stop. It has a deadline, and a branch for when that passes. */
  before?(preparing: Preparing<Data, Change>): Promise<Prepared>;
  /** While nothing of the job runs: nothing is created before it is resumed. */
  between?(preparing: Preparing<Data, Change>, plan: RecoveryPlan): Promise<void>;

  /** When its last answer was given, ms, from history. */
  doneAt?(data: Data): number | undefined;
  /** Whether it keeps the stop waiting for something that no fault brings about: the job trains on meanwhile. */
  isWaiting?(data: Data): boolean;

  /** What it adds to the record. */
  record?(data: Data): Partial<StepRecord>;
  /** What it would do, for the timeline where nothing may be done. */
  wouldDo?(plan: RecoveryPlan): Line | undefined;
  /** What a visit of it did, as a row of `kcover plan`. */
  planned?(visit: Visit<Data>): Line | undefined;
}

export type StepRecord = Pick<IncidentRecord, 'evidence' | 'checkpoints' | 'capacity' | 'pods'>;

export type CommonChange =
  /** The attempt is gone: what is known of it no longer counts. */
  | { readonly kind: 'attemptStopped' }
  /** The recovery waited in another step, ms. */
  | { readonly kind: 'waited'; readonly ms: number }
  /** The recovery was held, and the job left alone, ms. */
  | { readonly kind: 'heldFor'; readonly ms: number }
  /** The job has trained for long while a step waited. */
  | { readonly kind: 'trainedOn' };

/** What has steps before it: a stop, or the request to the processes to restart training by themselves. */
export type Preparable = Extract<RecoveryDecision, { kind: 'stop' | 'hold' }>;

export const planOf = (decision: Preparable): RecoveryPlan | undefined =>
  decision.kind === 'stop' ? decision.plan : undefined;

/** `look again`: something that the next step depends on has changed, or may have. */
export type Prepared = 'ready' | 'look again' | End;

/** What a step may change of the incident itself. */
export type IncidentChange =
  | { readonly kind: 'waited'; readonly ms: number }
  | { readonly kind: 'trainedOn' }
  | { readonly kind: 'processesAsked' }
  | { readonly kind: 'progressSeen'; readonly progress: JobProgress }
  | { readonly kind: 'levelTried'; readonly tried: TriedLevel }
  /** The broken pods alone are tried first again, if they had been passed over. */
  | { readonly kind: 'passedOverDropped' }
  | { readonly kind: 'nextSizeChosen'; readonly pods?: number | undefined }
  | { readonly kind: 'questionDropped'; readonly name: string };

/** One stop in preparation, for one step. */
export interface Preparing<Data, Change> {
  readonly decision: Preparable;
  readonly plan?: RecoveryPlan | undefined;
  readonly facts: AttemptFacts;
  /** The incident, and what the step remembers of it, as they are now. */
  readonly incident: IncidentData;
  readonly own: Data;
  /** Whether something changed that the decision has not seen. */
  hasChanged(): boolean;
  /** Whether a fault arrived that the decision has not seen. */
  hasNewFaults(): boolean;
  /** Whether any step keeps the stop waiting. */
  isWaiting(): boolean;

  change(change: Change): void;
  changeIncident(change: IncidentChange): void;
  happened(what: string, because?: string): void;
  show(phase: RecoveryStatus['phase'], words: Showing): void;
  announce(type: Announcement['type'], reason: keyof typeof eventReasons, message: string): void;

  /** Asks a person, once for each name; a denial ends the incident. */
  ask(name: string, approval: Asking): Promise<Prepared>;
  /** Where a person has denied. */
  refused(): End | undefined;
  /** Waits for a change, at most `ms`. */
  pause(ms: number, summary: string): Promise<void>;
  readonly tools: Tools;
}

export interface Line {
  readonly what: string;
  readonly because: string;
}

/** What one visit of a step did, for `kcover plan`. */
export interface Visit<Data> {
  readonly decision: Preparable;
  readonly facts: AttemptFacts;
  readonly before: Seen<Data>;
  readonly after: Seen<Data>;
}

interface Seen<Data> {
  readonly incident: IncidentData;
  readonly own: Data;
}
