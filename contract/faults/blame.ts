/** What a fault blames, strongest first: an earlier one explains later ones. */
export const blames = ['hardware', 'platform', 'user', 'unknown'] as const;
export type Blame = (typeof blames)[number];
