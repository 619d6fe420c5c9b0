/** What one incident knows: its faults and which of them are handled, its decisions, its stops. Pure bookkeeping. */

import type { EvidenceRequest } from '../../contract/recovery/evidence.ts';
import { faultSentence } from '../../contract/faults/sentence.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { AttemptPod, JobView } from '../../contract/job/jobs.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { RecoveryLevel } from '../../contract/recovery/plan.ts';
import {
  type AttemptFacts,
  type IncidentRecord,
  type PhaseEntry,
  podCount,
  type RecoveryDecision,
  type RecoveryFacts,
  type RecoveryInput,
  type RecoveryStatus,
  type TimelineEntry,
} from '../../contract/recovery/recovery.ts';
import { iso } from '../../contract/settings/duration.ts';
import { mergeFaults, nodesFirst, nodesOf } from '../faults.ts';
import { type Holds, noHolds } from './holds.ts';
import { noQuestions, type Questions } from './questions.ts';

/** Bounds of what one incident keeps. */
const most = { faults: 300, decisions: 50, phases: 100 } as const;

export type Stop = IncidentRecord['stops'][number];
export type PodLevel = Extract<RecoveryLevel, { name: 'pod' }>;
export type TriedLevel = NonNullable<RecoveryFacts['tried']>[number];

/** What the status shows, besides the timeline. */
export type Shown = Pick<RecoveryStatus, 'phase' | 'because' | 'waitingFor' | 'since' | 'until'>;

export interface IncidentData {
  readonly input: Omit<RecoveryInput, 'faults' | 'paused'>;
  /** When it began, ms. */
  readonly startedAt: number;
  readonly faults: readonly Fault[];
  /** Grows with every new fault, and with every change that a decision may not have seen. */
  readonly revision: number;
  /** A person has paused the job. */
  readonly paused?: OperatorRequest | undefined;
  /** Ids of the faults that were known when the last look began. */
  readonly looked: readonly string[];
  /** Ids of the faults that a decision has handled. */
  readonly handled: readonly string[];
  readonly decisions: readonly RecoveryDecision[];
  readonly holds: Holds;
  /** Revision at which it last subscribed at the cluster's workflow, which drops a subscription once it has notified it. */
  readonly subscribedAt?: number | undefined;
  readonly questions: Questions;
  /** Looks at this attempt for the age of the facts alone. */
  readonly agedLooks: number;
  /** The overrides that are ignored are in the timeline, for this attempt. */
  readonly planNoted: boolean;
  readonly stops: readonly Stop[];
  /** Stops that were begun, whatever their result. */
  readonly stopsStarted: number;
  /** Stops in a row that did nothing. */
  readonly interferences: number;
  /** UIDs of the pods that went with a stop. */
  readonly stoppedPods: readonly string[];
  /** Pods of this attempt that may be deleted by force, less those where that was not needed. */
  readonly forcing: readonly AttemptPod[];
  /** Pods that kept running beside those of the last stop, by UID. */
  readonly remaining: readonly string[];
  /** What the last stop restarted; absent where that was the whole job. */
  readonly level?: PodLevel | undefined;
  /** Levels that did not bring training back. */
  readonly tried: readonly TriedLevel[];
  /** kcover may have suspended the job. */
  readonly suspended: boolean;
  /** Pods of the whole job from the next attempt on, if it is to be made smaller. */
  readonly nextPods?: number | undefined;
  /** Progress before the first stop, and after the last. */
  readonly progress: { readonly before?: JobProgress; readonly after?: JobProgress };
  readonly shown: Shown;
  /** The phases that were shown, each once in a row. */
  readonly phases: readonly PhaseEntry[];
  /** Accelerators of the whole job, as first observed. */
  readonly gpus?: number | undefined;
  readonly optedInAt?: string | undefined;
  readonly timeline: readonly TimelineEntry[];
}

export function firstIncident({ faults, paused, ...input }: RecoveryInput, at: number): IncidentData {
  return {
    input,
    startedAt: at,
    faults,
    revision: 0,
    paused,
    looked: [],
    handled: [],
    decisions: [],
    holds: noHolds,
    questions: noQuestions,
    agedLooks: 0,
    planNoted: false,
    stops: [],
    stopsStarted: 0,
    interferences: 0,
    stoppedPods: [],
    forcing: [],
    remaining: [],
    tried: [],
    suspended: false,
    progress: {},
    shown: { phase: 'deciding', because: '', waitingFor: '', since: iso(at) },
    phases: [{ phase: 'deciding', at: iso(at) }],
    timeline: faults.slice(0, 5).map((fault) => entry(at, 'fault', faultSentence(fault))),
  };
}

const entry = (at: number, what: string, because?: string): TimelineEntry => ({
  at: iso(at),
  what,
  ...(because === undefined ? {} : { because }),
});

/** The state with one more line in its timeline. */
export const noted = <State extends IncidentData>(state: State, at: number, what: string, because?: string): State => ({
  ...state,
  timeline: [...state.timeline, entry(at, what, because)],
});

export interface Showing {
  readonly because: string;
  readonly waitingFor: string;
  /** ms */
  readonly until?: number | undefined;
}

/** The state with what people see now. */
export const showing = <State extends IncidentData>(
  state: State,
  at: number,
  phase: RecoveryStatus['phase'],
  { because, waitingFor, until }: Showing,
): State => ({
  ...state,
  shown: { phase, because, waitingFor, since: iso(at), ...(until === undefined ? {} : { until: iso(until) }) },
  phases:
    state.phases.at(-1)?.phase === phase || state.phases.length >= most.phases
      ? state.phases
      : [...state.phases, { phase, at: iso(at) }],
});

/** The state with the faults of a signal; those that are new join the timeline. */
export function withFaults<State extends IncidentData>(state: State, arrived: readonly Fault[], at: number): State {
  const free = most.faults - state.faults.length;
  const known = new Set(state.faults.map(({ id }) => id));
  const faults = [...state.faults];
  const { added, changed } = mergeFaults(
    faults,
    arrived.filter(({ id }, index) => index < free || known.has(id)),
  );
  if (added.length + changed.length === 0) return state;
  return added.slice(0, 5).reduce((after, fault) => noted(after, at, 'fault joined', faultSentence(fault)), {
    ...state,
    faults,
    revision: state.revision + 1,
  });
}

/** The number of the attempt that runs, or is to run next. */
export const attemptOf = ({ stops }: IncidentData): number => stops.length + 1;

export const nodesIn = ({ faults }: Pick<IncidentData, 'faults'>): string[] => nodesOf(faults);

/** UIDs of the pods that faults name. */
export const podsIn = ({ faults }: IncidentData): string[] => [...new Set(faults.flatMap(({ pod }) => pod?.uid ?? []))];

/** Faults that no decision has handled yet; a stop handles those of the pods it removes. */
export function unhandled({
  faults,
  handled,
  stoppedPods,
}: Pick<IncidentData, 'faults' | 'handled' | 'stoppedPods'>): Fault[] {
  const [done, stopped] = [new Set(handled), new Set(stoppedPods)];
  return nodesFirst(faults.filter(({ id, pod }) => !done.has(id) && !(pod && stopped.has(pod.uid))));
}

export function handledFaults({ faults, handled }: IncidentData): Fault[] {
  const done = new Set(handled);
  return faults.filter(({ id }) => done.has(id));
}

/** Ids of faults that a stop has handled, whatever the outcome. */
export function handledIds({ faults, handled, stoppedPods }: IncidentData): string[] {
  const [done, stopped] = [new Set(handled), new Set(stoppedPods)];
  return faults.filter(({ id, pod }) => done.has(id) || (pod && stopped.has(pod.uid))).map(({ id }) => id);
}

/** Ids that this incident took into account: the last look saw them and, when the job runs, they need nothing more. */
export function coveredIds(state: IncidentData, running: boolean): string[] {
  const left = new Set(running ? unhandled(state).map(({ id }) => id) : []);
  const stopped = new Set(state.stoppedPods);
  const went = state.faults.filter(({ pod }) => pod && stopped.has(pod.uid)).map(({ id }) => id);
  return [...new Set([...state.looked, ...went])].filter((id) => !left.has(id));
}

export const withHandled = <State extends IncidentData>(state: State, ids: readonly string[]): State => ({
  ...state,
  handled: [...new Set([...state.handled, ...ids])],
});

export const withDecision = <State extends IncidentData>(state: State, decision: RecoveryDecision): State => ({
  ...state,
  decisions: [...state.decisions, decision].slice(-most.decisions),
});

/** How the last stop was done. */
export function stoppedBy({ stops }: IncidentData): Pick<RecoveryFacts, 'stoppedBy'> {
  const by = stops.at(-1)?.by;
  return by ? { stoppedBy: by } : {};
}

/** Pods that may have been deleted by force, of all attempts, including a stop that was never finished. */
export const forcedEver = ({ stops, forcing }: IncidentData): AttemptPod[] => [
  ...stops.flatMap(({ forced = [] }) => forced),
  ...forcing,
];

/** What the record keeps of the job. */
export type JobBefore = Pick<JobView, 'gpus' | 'optedInAt' | 'progress'>;

/** With the job as it was before the first stop: later steps belong to another attempt, which may be smaller. */
export function withJobBefore<State extends IncidentData>(
  state: State,
  { gpus, optedInAt, progress }: JobBefore,
): State {
  if (state.stops.length > 0) return state;
  const isNewer = progress !== undefined && progress.step >= (state.progress.before?.step ?? 0);
  return { ...state, gpus: state.gpus ?? gpus, optedInAt, ...(isNewer && { progress: { before: progress } }) };
}

/** The broken pods alone were passed over, because only a smaller job fits. */
export const isPassedOver = ({ tried }: IncidentData): boolean => tried.at(-1)?.noCapacity === true;

/**
 * Every pod of this attempt, each UID once: failed pods, then pods on blamed nodes, then the others. A failed pod may have ended or be gone,
 * so that a look does not find it. Pods that an earlier stop removed are left out.
 */
export function failingFirst(
  { faults, stoppedPods }: Pick<IncidentData, 'faults' | 'stoppedPods'>,
  { pods, terminating = [] }: Pick<AttemptFacts, 'pods' | 'terminating'>,
): AttemptPod[] {
  const named = faults.flatMap(({ pod, node }): AttemptPod[] =>
    pod ? [{ name: pod.name, uid: pod.uid, ...(node !== undefined && { node }) }] : [],
  );
  const each = new Map([...named, ...terminating, ...pods].map((pod) => [pod.uid, pod]));
  const [failed, blamed, stopped] = [
    new Set(named.map(({ uid }) => uid)),
    new Set(nodesOf(faults)),
    new Set(stoppedPods),
  ];
  const rank = ({ uid, node = '' }: AttemptPod) => (failed.has(uid) ? 0 : blamed.has(node) ? 1 : 2);
  return [...each.values()].filter(({ uid }) => !stopped.has(uid)).toSorted((a, b) => rank(a) - rank(b));
}

/** Kernel log lines that agents sent with their faults. */
export const kernelLines = ({ faults }: IncidentData): NonNullable<EvidenceRequest['kernel']> =>
  faults.flatMap(({ node, evidence }) => (node !== undefined && evidence ? [{ node, lines: evidence }] : []));

/** The pods of an attempt in words: `4 pods`. */
export const counted = (attempt: Pick<AttemptFacts, 'pods' | 'more'>): string => podsOf(podCount(attempt));

export const podsOf = (count: number): string => (count === 1 ? '1 pod' : `${count} pods`);

/** A warning about pods that were deleted by force; empty when there were none. */
export const notProvenDead = (forced: readonly AttemptPod[]): string =>
  forced.length === 0
    ? ''
    : ` (${counted({ pods: forced })} deleted by force on ${nodesUnder(forced)}: the old processes are not proven dead)`;

const nodesUnder = (pods: readonly AttemptPod[]): string =>
  [...new Set(pods.map(({ node }) => node ?? 'no node'))].toSorted().join(', ');
