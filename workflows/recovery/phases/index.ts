import type { Effect } from '../effects.ts';
import type { Phase } from '../state.ts';
import { backingOff } from './backing-off.ts';
import { betweenAttempts } from './between-attempts.ts';
import { deciding } from './deciding.ts';
import { ending, recording } from './ending.ts';
import { held } from './held.ts';
import { preparing } from './preparing.ts';
import { placing, starting } from './starting.ts';
import { stopping } from './stopping.ts';
import { verifying } from './verifying.ts';

/** What each phase does. */
export const phases: { readonly [P in Exclude<Phase, 'ended'>]: Effect<P> } = {
  deciding,
  held,
  preparing,
  stopping,
  'backing-off': backingOff,
  'between-attempts': betweenAttempts,
  starting,
  placing,
  verifying,
  ending,
  recording,
};
