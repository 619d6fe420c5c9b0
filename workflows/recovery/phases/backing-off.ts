import { sleep } from '@temporalio/workflow';
import type { Effect } from '../effects.ts';

/** A stop did nothing: what changed the job may do so for a while. */
export const backingOff: Effect<'backing-off'> = async (_recovery, { ms }) => {
  await sleep(ms);
  return { kind: 'lookOutdated' };
};
