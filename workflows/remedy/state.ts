import type { Announcement } from '../../contract/wire/activities.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { eventReasons } from '../../contract/ids.ts';
import type { MachineView, Remediation, RemedyInput, RemedyOutcome, Rung } from '../../contract/remedy/remedy.ts';
import { mergeFaults } from '../faults.ts';

/**
 * `remembering` counts earlier incidents of the machine. `asking` asks the workflow of the cluster before every act; `waiting`: it was refused, or
 * somebody else works on the node. `draining` evicts other workloads. `remediating` looks at the machine, runs the hook of a rung and observes its
 * proof; `verifying` runs the hook that tests the node; `probation` watches it.
 */
export type RemedyState = RemedyData &
  (
    | { readonly phase: 'remembering' }
    | { readonly phase: 'asking' }
    | { readonly phase: 'waiting'; readonly askAt: number }
    | { readonly phase: 'draining'; readonly until: number }
    | { readonly phase: 'remediating'; readonly step: 'looking' | 'running' | 'proving'; readonly attempt: Attempt }
    | { readonly phase: 'verifying'; readonly step: 'looking' | 'running'; readonly attempt: Attempt }
    | { readonly phase: 'probation'; readonly until: number; readonly attempt: Attempt }
    | { readonly phase: 'ended'; readonly outcome: RemedyOutcome }
  );

export interface RemedyData {
  readonly input: RemedyInput;
  /** Those known at its start, and those that arrived, oldest first. */
  readonly faults: readonly Fault[];
  readonly dropped: number;
  /** Index of the rung. */
  readonly rung: number;
  /** Runs of the hook of this rung so far, those that found the node busy included. */
  readonly runs: number;
  /** Attempts of this rung that failed. */
  readonly failures: number;
  /** How often somebody else worked on the node, or its workloads could not leave. */
  readonly delays: number;
  readonly drained: boolean;
  /** From the permission for a run of a hook until it is known how it ended. */
  readonly attempt?: Attempt | undefined;
  readonly remediations: readonly Remediation[];
  /** The refusal that people were last notified of. */
  readonly reported?: string | undefined;
  /** A refusal may no longer hold. */
  readonly recheck: boolean;
  readonly because: string;
  /** To be sent, in this order, before anything else is done. */
  readonly outbox: readonly Message[];
}

/** One run of the hook of a rung. Times are milliseconds since the epoch. */
export interface Attempt {
  readonly number: number;
  /** Names the run in every system. */
  readonly operation: string;
  readonly begunAt: number;
  /** When the run, its proof included, counts as failed. */
  readonly until: number;
  /** The machine, read before the hook ran. */
  readonly before?: MachineView;
  readonly hook?: { readonly verdict: 'passed' | 'unknown'; readonly because: string };
  readonly reference?: string;
  /** What was observed, and when. */
  readonly proof?: string;
  readonly provenAt?: number;
  /** Runs of the hook that verifies it, and what the last one said. */
  readonly checks: number;
  readonly verified?: string;
}

export type Message =
  | { readonly to: 'people'; readonly event: Announcement }
  /** The node is no longer under repair. */
  | { readonly to: 'cluster'; readonly outcome: RemedyOutcome['outcome'] };

/** Bounds. A further delay ends the remedy. */
export const most = { faults: 50, delays: 5 } as const;

/** How long it waits when somebody else works on the node, ms. */
export const delayMs = 5 * 60_000;

export const firstState = (input: RemedyInput): RemedyState => ({
  phase: 'remembering',
  input,
  faults: input.faults.slice(-most.faults),
  dropped: 0,
  rung: 0,
  runs: 0,
  failures: 0,
  delays: 0,
  drained: input.ladder.drainMs === undefined,
  remediations: [],
  recheck: false,
  because: input.ladder.because,
  outbox: [],
});

/** A rung beyond the last one does not exist: the remedy has ended then. */
export const rungOf = ({ input, rung }: RemedyData): Rung | undefined => input.ladder.rungs[rung];

/** The attempt had its effect: what is asked for next is its verification. */
export const isProven = ({ attempt }: RemedyData): boolean => attempt?.provenAt !== undefined;

/** Another rung or attempt, or what follows from a proof. `attempt` is only known from its begin to its end. */
export function asking(data: RemedyData, because = data.because): RemedyState {
  return { ...data, phase: 'asking', because, recheck: false };
}

/** `gpu-3-1k9f0z3q8c7ab-r1-a1`, at most 52 characters: an operation becomes a part of names. */
export function operationOf({ input: { node, incident }, rung }: RemedyData, run: string): string {
  const prefix = node.replaceAll('.', '-').slice(0, 20).replace(/-+$/, '');
  return `${prefix}-${shortHash(incident)}-r${rung + 1}-${run}`;
}

/** FNV-1a of 64 bits: workflows have no `node:crypto`. Incidents that begin in the same millisecond on nodes of similar names must differ. */
function shortHash(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of text) {
    hash ^= BigInt(character.codePointAt(0) ?? 0);
    hash = BigInt.asUintN(64, hash * 0x100000001b3n);
  }
  return hash.toString(36);
}

/** Adds faults that are new, each once; the oldest stay. */
export function remembered<Data extends RemedyData>(data: Data, arrived: readonly Fault[], dropped: number): Data {
  const faults = [...data.faults];
  mergeFaults(faults, arrived);
  const kept = faults.slice(0, most.faults);
  return { ...data, faults: kept, dropped: data.dropped + dropped + faults.length - kept.length };
}

/** An Event on the node; nothing waits until it is written. */
export function toPeople(
  { input: { node, uid, incident } }: RemedyData,
  type: Announcement['type'],
  reason: 'remediating' | 'remedyHeld' | 'remedyEnded',
  { message, key }: { readonly message: string; readonly key: string },
): Message {
  return {
    to: 'people',
    event: {
      about: { kind: 'node', name: node, uid },
      type,
      reason: eventReasons[reason],
      message,
      key: `${incident}/${key}`,
    },
  };
}

export const withMessages = <Data extends RemedyData>(data: Data, ...messages: readonly Message[]): Data => ({
  ...data,
  outbox: [...data.outbox, ...messages],
});

export const isoTime = (ms: number): string => new Date(ms).toISOString();
