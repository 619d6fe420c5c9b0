import type { Effect } from '../effects.ts';

/** A stop did nothing: what changed the job may do so for a while. */
export const backingOff: Effect<'backing-off'> = async ({ tools }, { ms }) => {
  await tools.wait(() => false, ms);
  return { kind: 'lookOutdated' };
};
