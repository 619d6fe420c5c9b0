import type { LiveKcover } from '../support/live-kcover.ts';

/** How often the node was taken out so far. */
export const quarantinesOf = ({ chronicle }: LiveKcover, name: string): number => chronicle.quarantines().filter(({ node }) => node === name).length;
