import type { CapacityDecision } from '../contract/recovery-plan.ts';

/** Bounds of what one incident keeps, and of how often it tries. */
const most = { decisions: 20, standbyTries: 3 } as const;

/** After it others may have taken what was found. ms */
const foundForMs = 60_000;
/** A job that waited for room for longer has trained on meanwhile. ms */
const longMs = 60_000;

/** What one incident knows of room for its next attempt. Plain bookkeeping. */
export class CapacityState {
  /** What was decided about it. */
  readonly decisions: CapacityDecision[] = [];
  /** Pods of the whole job from the next attempt on, where that is to be made smaller. */
  nextPods: number | undefined;
  /** Stand-by nodes were taken, or were to be taken often enough. */
  standbyTaken = false;
  private standbyTries = 0;
  private found: { readonly until: number; readonly revision: number } | undefined;
  /** The last look found none, since then, ms. */
  private shortSince: number | undefined;
  private wait: { readonly until: number; readonly times: number } | undefined;

  decided(decision: CapacityDecision): void {
    if (this.decisions.at(-1)?.because === decision.because) this.decisions.pop();
    this.decisions.push(decision);
    if (this.decisions.length > most.decisions) this.decisions.shift();
    if (decision.kind !== 'go' && decision.kind !== 'shrink') this.shortSince ??= Date.now();
  }

  /** Whether what was found holds: not for long, and not after news. */
  isKnown(revision: number): boolean {
    return this.found !== undefined && this.found.revision === revision && Date.now() < this.found.until;
  }

  /** Whether the last look found too little. */
  get isShort(): boolean {
    return this.shortSince !== undefined;
  }

  /** For so many pods of the whole job, for all of them without a number. `mark`: before the look. `waited`: there was none for long. */
  isThere(revision: number, pods?: number): { readonly waited: boolean } {
    const waited = this.shortSince !== undefined && Date.now() - this.shortSince > longMs;
    this.shortSince = undefined;
    this.found = { until: Date.now() + foundForMs, revision };
    this.nextPods = pods;
    return { waited };
  }

  /** Nobody could look: that is so until there is news, or the incident was held. */
  isUnknown(revision: number): void {
    this.found = { until: Infinity, revision };
    this.nextPods = undefined;
  }

  /** It is looked for again. */
  forget(): void {
    this.found = undefined;
  }

  /** Of so many wanted: who finds fewer than were seen looks again, but not for ever. */
  tookStandbyNodes(taken: number, wanted: number): void {
    this.standbyTries += 1;
    this.standbyTaken = taken >= wanted || this.standbyTries >= most.standbyTries;
  }

  /** The deadline of the first time holds, ms. */
  waits(until: number): { readonly until: number; readonly times: number } {
    this.wait = { until: this.wait?.until ?? until, times: (this.wait?.times ?? 0) + 1 };
    return this.wait;
  }

  /** Nobody looked for so long, ms: a wait has as much time left as before. */
  putOff(ms: number): void {
    if (this.wait) this.wait = { ...this.wait, until: this.wait.until + ms };
  }

  /** The attempt was stopped: of the next one nothing is known. `nextPods` is for who starts it. */
  stopped(): void {
    this.found = undefined;
    this.shortSince = undefined;
    this.wait = undefined;
  }
}
