/** Why an incident is held. Each reason has its own deadline; time held for one does not count against another. */

export type HoldReason = 'held' | 'unobservable' | 'paused';

export class HoldDeadlines {
  /** Number of holds in a row. */
  times = 0;
  private readonly since = new Map<HoldReason, number>();
  private last: { readonly kind: HoldReason; readonly at: number } | undefined;
  private startedAt: number | undefined;

  /** `at`: now, ms. `since`: from when on its deadline counts. */
  begin(kind: HoldReason, at: number): { readonly isFirst: boolean; readonly since: number } {
    this.times += 1;
    this.startedAt ??= at;
    const { last } = this;
    if (last) for (const [other, since] of this.since) if (other !== last.kind) this.since.set(other, since + at - last.at);
    this.last = { kind, at };
    const since = this.since.get(kind);
    if (since === undefined) this.since.set(kind, at);
    return { isFirst: since === undefined, since: since ?? at };
  }

  /** How long it has been held for this reason, ms. */
  msOf(kind: HoldReason, now: number): number | undefined {
    const { last } = this;
    const since = this.since.get(kind);
    const others = last && last.kind !== kind ? now - last.at : 0;
    return since === undefined ? undefined : now - since - others;
  }

  /** Ends the hold and returns how long it lasted, ms. */
  end(now: number): number {
    const ms = this.startedAt === undefined ? 0 : Math.max(0, now - this.startedAt);
    this.times = 0;
    this.since.clear();
    this.last = undefined;
    this.startedAt = undefined;
    return ms;
  }
}
