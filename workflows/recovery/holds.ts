/** Why an incident is held. Each reason has its own deadline; time held for one does not count against another. Pure. */

export type HoldReason = 'held' | 'unobservable' | 'paused';

export interface Holds {
  /** Number of holds in a row. */
  readonly times: number;
  /** From when on the deadline of each reason counts, ms. */
  readonly since: Readonly<Partial<Record<HoldReason, number>>>;
  readonly last?: { readonly reason: HoldReason; readonly at: number } | undefined;
  readonly startedAt?: number | undefined;
}

export const noHolds: Holds = { times: 0, since: {} };

/** `at`: now, ms. `since`: from when on its deadline counts. */
export function beginHold(
  holds: Holds,
  reason: HoldReason,
  at: number,
): { readonly holds: Holds; readonly isFirst: boolean; readonly since: number } {
  const { last } = holds;
  const passed = Object.entries(holds.since).map(
    ([other, since]) => [other, last && other !== last.reason ? since + at - last.at : since] as const,
  );
  const before: Holds['since'] = Object.fromEntries(passed);
  const since = before[reason] ?? at;
  return {
    holds: {
      times: holds.times + 1,
      since: { ...before, [reason]: since },
      last: { reason, at },
      startedAt: holds.startedAt ?? at,
    },
    isFirst: before[reason] === undefined,
    since,
  };
}

/** How long it has been held for this reason, ms. */
export function heldFor({ since, last }: Holds, reason: HoldReason, now: number): number | undefined {
  const begun = since[reason];
  const others = last && last.reason !== reason ? now - last.at : 0;
  return begun === undefined ? undefined : now - begun - others;
}

/** How long the holds in a row have lasted, ms. */
export const heldInAll = ({ startedAt }: Holds, now: number): number =>
  startedAt === undefined ? 0 : Math.max(0, now - startedAt);
