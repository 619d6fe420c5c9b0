/** How a recovery can end. `recovered`: training was verified to continue. `restarted`: running again, not verified. */
export const outcomes = ['recovered', 'restarted', 'refused', 'failed', 'cancelled', 'escalated'] as const;
export type Outcome = (typeof outcomes)[number];
