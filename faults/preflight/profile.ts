/** Profiles for reading preflight reports: versions of the reference project, and kcover's own. */

import { preflightLimits } from '../../contract/preflight/preflight.ts';

/** Highest plausible bandwidth, GiB/s, for bounded profiles: far above real networks, and sums stay finite. */
export const mostGbps = 1_000_000;

export const profileNames = ['seed', 'v008', 'v012', 'recommended', 'live'] as const;
export type ProfileName = (typeof profileNames)[number];

export interface ReportProfile {
  readonly name: ProfileName;
  /** GiB/s, for a report without a threshold; 0: bandwidths are ignored. */
  readonly threshold: number;
  readonly thresholdText: {
    /** White space around it is removed, and a blank one counts as absent. */
    readonly trimmed: boolean;
    /** 0 is allowed, and switches the check of bandwidths off. */
    readonly zero: boolean;
    /** `NaN` never fails a pair and `Inf` always does; refused where this is false. */
    readonly nonFinite: boolean;
  };
  /** Most ranks of a workload. */
  readonly mostRanks: number;
  readonly oddSizes: boolean;
  /** Whether a workload may have a single rank, which only runs its own checks. */
  readonly alone: boolean;
  /** Rounds that count: of a run of n ranks the first n - 1, but at most `most`; with `everyPair` false, `most` for any size. */
  readonly rounds: { readonly most: number; readonly everyPair: boolean; readonly later: 'refused' | 'ignored' };
  /** Meaning of the status skip. `measured`: none, it needs a measurement. `blamed`: without a pair the reporter is blamed. `neutral`: no node is blamed. */
  readonly skip: 'measured' | 'blamed' | 'neutral';
  /** Texts and numbers have limits, because the file is untrusted, and the test's reason is kept. */
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

const recommended = {
  ...v012,
  name: 'recommended',
  threshold: 5,
  thresholdText: { trimmed: true, zero: true, nonFinite: false },
} as const;

/**
 * `seed`, `v008`, `v012`: exactly as versions of the reference project. `recommended`: the last of them with its documented default of 5 GiB/s,
 * and only finite thresholds. `live`: for kcover's own collection: any size, more rounds, and a rank that could not test is not blamed.
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
