import type { LiveKcover } from '../support/live-kcover.ts';

/** How often the node was taken out so far. */
export const quarantinesOf = ({ recorder }: LiveKcover, name: string): number => recorder.quarantines().filter(({ node }) => node === name).length;
