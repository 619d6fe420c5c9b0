/** How a recovery can end. `recovered` needs proof that training moved on; `restarted` means running again, not verified. */
export const outcomes = ['recovered', 'restarted', 'refused', 'failed', 'cancelled', 'escalated'] as const;
export type Outcome = (typeof outcomes)[number];
