/**
 * Rounds: a preflight container asks the controller which rank to test next, `POST /v1/preflight/rounds`, with a projected token of its pod.
 * Every request holds all results of its rank so far, so that a new leader needs no state of the old one.
 */

/** Audience of a preflight pod's token; agents have another. */
export const roundsAudience = 'kcover-preflight';

export const roundsPath = '/v1/preflight/rounds';

/** Longest time that one request is held open (long poll), ms. */
export const roundsPollMs = 25_000;

/** What one rank measured in a round. */
export interface RoundResult {
  readonly round: number;
  /** Rank of the partner; absent in a round that it sat out. */
  readonly peer?: number;
  readonly status: 'ok' | 'fail' | 'skip';
  /** GiB/s. */
  readonly gbps?: number;
  readonly because?: string;
}

export interface RoundRequest {
  readonly schema: 1;
  /** Ranks of the workload; the same for all. */
  readonly size: number;
  /** `host:port` at which a partner reaches this rank. */
  readonly address: string;
  /** All rounds so far, in order. */
  readonly results: readonly RoundResult[];
}

/** `wait`: ask again at once. `lead`: this rank is the master of the pair. */
export type RoundAnswer =
  | { readonly kind: 'wait'; readonly because: string }
  | {
      readonly kind: 'round';
      readonly round: number;
      readonly peer: { readonly rank: number; readonly node: string; readonly address: string };
      readonly lead: boolean;
    }
  | { readonly kind: 'idle'; readonly round: number }
  | { readonly kind: 'done'; readonly because: string };

/** What one rank has reported to the planner. */
export interface PlannedRank {
  readonly rank: number;
  readonly node: string;
  readonly results: readonly RoundResult[];
}

/** What `planRound` decides from. The same facts give the same plan on every leader. */
export interface RoundFacts {
  readonly size: number;
  /** Ranks that take part. */
  readonly ranks: readonly PlannedRank[];
  /** The round to plan, from 0. */
  readonly round: number;
  /** Differs between runs, so that ranks get other partners in another run. */
  readonly seed: string;
}

export type RoundPlan =
  | {
      readonly kind: 'round';
      readonly pairs: readonly (readonly [number, number])[];
      readonly idle: readonly number[];
      readonly because: string;
    }
  | { readonly kind: 'done'; readonly because: string };
