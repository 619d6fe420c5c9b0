/** A decision without its time and settings digest: `policy/` returns it, `activities/` completes it. */
export type Undated<Decision> = Decision extends unknown ? Omit<Decision, 'settings' | 'at'> : never;
