/** A decision before its time and the settings that made it are named: what `policy/` returns and `activities/` completes. */
export type Undated<Decision> = Decision extends unknown ? Omit<Decision, 'settings' | 'at'> : never;
