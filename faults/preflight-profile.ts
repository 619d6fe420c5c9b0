/** How a version of the reference project reads a preflight report, and how kcover does. */

import { preflightLimits } from '../contract/preflight.ts';

/** GiB/s, where texts and numbers have limits: no network will reach it soon, and sums of such numbers are still numbers. */
export const mostGbps = 1_000_000;

export const profileNames = ['seed', 'v008', 'v012', 'recommended', 'live'] as const;
export type ProfileName = (typeof profileNames)[number];

export interface ReportProfile {
  readonly name: ProfileName;
  /** GiB/s, of a report that names no threshold; 0: bandwidths are not looked at. */
  readonly threshold: number;
  readonly thresholdText: {
    /** White space around it is cut away, and a blank one counts as none. */
    readonly trimmed: boolean;
    /** 0 is allowed, and switches the test of bandwidths off. */
    readonly zero: boolean;
    /** `NaN` never fails a pair and `Inf` always does; refused where this is false. */
    readonly nonFinite: boolean;
  };
  /** Ranks of a workload. */
  readonly mostRanks: number;
  readonly oddSizes: boolean;
  /** Whether a rank may be alone: only its own checks are made then. */
  readonly alone: boolean;
  /** Rounds that count: of a run of n ranks the first n - 1, but at most `most`; with `everyPair` false, `most` for any size. */
  readonly rounds: { readonly most: number; readonly everyPair: boolean; readonly later: 'refused' | 'ignored' };
  /** `measured`: no word of its own. `blamed`: whoever reports it is the pair where it names none. `neutral`: it may name nobody. */
  readonly skip: 'measured' | 'blamed' | 'neutral';
  /** Texts and numbers have limits, and the words of the test are kept: a tenant wrote the file. */
  readonly bounded: boolean;
}

const fiveRounds = { most: 5, everyPair: true } as const;

const v012 = {
  name: 'v012',
  threshold: 0,
  thresholdText: { trimmed: true, zero: true, nonFinite: true },
  mostRanks: preflightLimits.size,
  oddSizes: false,
  alone: false,
  rounds: { ...fiveRounds, later: 'ignored' },
  skip: 'blamed',
  bounded: false,
} as const satisfies ReportProfile;

const recommended = { ...v012, name: 'recommended', threshold: 5, thresholdText: { trimmed: true, zero: true, nonFinite: false } } as const;

/**
 * `seed`, `v008`, `v012`: versions of the reference project, to the letter. `recommended`: the last of them with its documented default of
 * 5 GiB/s, and only finite thresholds. `live`: what kcover collects: any size, more rounds, and whoever could not test is not blamed for it.
 */
export const reportProfiles = {
  seed: {
    name: 'seed',
    threshold: 5,
    thresholdText: { trimmed: false, zero: false, nonFinite: true },
    mostRanks: Number.MAX_SAFE_INTEGER,
    oddSizes: true,
    alone: false,
    rounds: { ...fiveRounds, later: 'refused' },
    skip: 'measured',
    bounded: false,
  },
  v008: {
    name: 'v008',
    threshold: 5,
    thresholdText: { trimmed: false, zero: false, nonFinite: true },
    mostRanks: Number.MAX_SAFE_INTEGER,
    oddSizes: false,
    alone: false,
    rounds: { ...fiveRounds, later: 'ignored' },
    skip: 'blamed',
    bounded: false,
  },
  v012,
  recommended,
  live: {
    ...recommended,
    name: 'live',
    oddSizes: true,
    alone: true,
    rounds: { most: preflightLimits.rounds, everyPair: false, later: 'ignored' },
    skip: 'neutral',
    bounded: true,
  },
} as const satisfies { readonly [Name in ProfileName]: ReportProfile & { readonly name: Name } };
