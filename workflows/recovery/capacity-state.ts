import type { CapacityDecision } from '../../contract/recovery-plan.ts';

/** Bounds of what one incident keeps, and of how often it tries. */
const most = { decisions: 20, standbyTries: 3 } as const;

/** How long found capacity counts: after that, others may have taken it. ms */
const foundForMs = 60_000;
/** A job that waited for capacity longer than this has trained on meanwhile. ms */
const longMs = 60_000;

/** What one incident knows about capacity for its next attempt. Plain bookkeeping. */
export class CapacityState {
  /** Capacity decisions so far. */
  readonly decisions: CapacityDecision[] = [];
  /** Pods of the whole job from the next attempt on, if it is to be made smaller. */
  nextPods: number | undefined;
  /** Standby nodes were taken, or tried often enough. */
  standbyTaken = false;
  private standbyTries = 0;
  private found: { readonly until: number; readonly revision: number } | undefined;
  /** Since when looks have found no capacity, ms. */
  private shortSince: number | undefined;
  private wait: { readonly until: number; readonly times: number } | undefined;

  decided(decision: CapacityDecision): void {
    if (this.decisions.at(-1)?.because === decision.because) this.decisions.pop();
    this.decisions.push(decision);
    if (this.decisions.length > most.decisions) this.decisions.shift();
    if (decision.kind !== 'go' && decision.kind !== 'shrink') this.shortSince ??= Date.now();
  }

  /** Whether what was found still counts: for a limited time, and only while nothing changes. */
  isKnown(revision: number): boolean {
    return this.found !== undefined && this.found.revision === revision && Date.now() < this.found.until;
  }

  /** Whether the last look found too little capacity. */
  get isShort(): boolean {
    return this.shortSince !== undefined;
  }

  /** Capacity was found for this many pods of the whole job; for all of them without a number. `revision`: from before the look. `waited`: there was none for long. */
  isThere(revision: number, pods?: number): { readonly waited: boolean } {
    const waited = this.shortSince !== undefined && Date.now() - this.shortSince > longMs;
    this.shortSince = undefined;
    this.found = { until: Date.now() + foundForMs, revision };
    this.nextPods = pods;
    return { waited };
  }

  /** Capacity could not be observed: this counts until something changes, or the incident was held. */
  isUnknown(revision: number): void {
    this.found = { until: Infinity, revision };
    this.nextPods = undefined;
  }

  /** Drops what was found, so that capacity is looked up again. */
  forget(): void {
    this.found = undefined;
  }

  /** Fewer taken than wanted means another try, up to a bound. */
  tookStandbyNodes(taken: number, wanted: number): void {
    this.standbyTries += 1;
    this.standbyTaken = taken >= wanted || this.standbyTries >= most.standbyTries;
  }

  /** The deadline of the first call holds, ms. */
  waits(until: number): { readonly until: number; readonly times: number } {
    this.wait = { until: this.wait?.until ?? until, times: (this.wait?.times ?? 0) + 1 };
    return this.wait;
  }

  /** Nobody looked for this long, ms: the deadline of a wait moves by as much. */
  putOff(ms: number): void {
    if (this.wait) this.wait = { ...this.wait, until: this.wait.until + ms };
  }

  /** The attempt was stopped: nothing is known about capacity for the next one. `nextPods` is kept for its start. */
  stopped(): void {
    this.found = undefined;
    this.shortSince = undefined;
    this.wait = undefined;
  }
}
