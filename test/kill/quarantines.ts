import type { LiveKcover } from '../support/live-kcover.ts';

/** Number of quarantines of the node so far. */
export const quarantinesOf = ({ recorder }: LiveKcover, name: string): number =>
  recorder.quarantines().filter(({ node }) => node === name).length;
