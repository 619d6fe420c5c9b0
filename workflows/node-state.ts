import type { NodeDecision } from '../contract/activities.ts';
import type { Fault, KernelPosition, QuarantineStatus } from '../contract/faults.ts';
import type { OperatorRequest } from '../contract/messages.ts';
import type { ContinuedNode, HeldQuarantine, NodeQuarantine } from '../contract/nodes.ts';
import { isObject, mergeFaults, takeFaults, textOf } from './faults.ts';

/** Bounds of what a node's workflow keeps. */
const most = { faults: 50, inbox: 200, faultsPerSignal: 100 } as const;

/** Everything a node's workflow remembers. Plain bookkeeping, no decisions. */
export class NodeState {
  faults: Fault[];
  inbox: Fault[];
  quarantine: NodeQuarantine | undefined;
  held: HeldQuarantine | undefined;
  judged: KernelPosition | undefined;
  asked: OperatorRequest | undefined;
  release: OperatorRequest | undefined;
  /** Earliest time of the next try of a failed release, ms. */
  releaseAt: number | undefined;
  quietSince: number;
  quietMs: number;
  askAgainMs: number;
  because: string;
  private dropped: number;

  constructor(continued: ContinuedNode | undefined, now: number) {
    this.faults = [...(continued?.faults ?? [])];
    this.inbox = [...(continued?.inbox ?? [])];
    this.quarantine = continued?.quarantine;
    this.held = continued?.held;
    this.judged = continued?.judged;
    this.asked = continued?.asked;
    this.release = continued?.release;
    this.releaseAt = continued?.releaseAt;
    this.quietSince = continued?.quietSince ?? now;
    this.quietMs = continued?.quietMs ?? 0;
    this.askAgainMs = continued?.askAgainMs ?? 60_000;
    this.because = continued?.because ?? 'reading the node';
    this.dropped = continued?.dropped ?? 0;
  }

  /** Takes each fault once; a line that was judged in this run is not judged again. */
  take(payload: unknown): void {
    const { faults, dropped } = takeFaults(payload);
    const known = new Set([...this.faults, ...this.inbox].map((fault) => fault.id));
    const fresh = faults.filter((fault) => !known.has(fault.id));
    const kept = fresh.slice(0, Math.max(0, most.inbox - this.inbox.length));
    this.inbox.push(...kept);
    this.dropped += dropped + fresh.length - kept.length;
  }

  takeRequest(request: unknown): void {
    const { by, reason } = isObject(request) ? request : {};
    this.asked = { by: textOf(by) ?? 'signal', reason: textOf(reason) ?? 'asked by signal' };
  }

  hasArrivals = (): boolean => this.inbox.length > 0 || this.asked !== undefined;

  hasWork = (): boolean => this.hasArrivals() || this.mayRelease();

  mayRelease = (): boolean => this.release !== undefined && this.releaseAt === undefined && this.isOut();

  /** When to act although nothing changes: try a failed release again, ask again for a refused quarantine, end a quiet node. A quarantined node waits for a person. */
  nextDeadline(until: number | undefined, now: number): number | undefined {
    if (this.releaseAt !== undefined || this.quarantine) return this.releaseAt;
    return this.held ? (until ?? now + this.askAgainMs) : this.quietSince + this.quietMs;
  }

  /** The machine of a quarantine returned under another UID, without its taint. */
  requeueQuarantine({ because, reason, by }: NodeQuarantine, incident: string, now: number): void {
    this.held = { because: `the same machine returned: ${because}`, since: now, incident, reason, by };
    this.quarantine = undefined;
  }

  isOut = (): boolean => this.quarantine !== undefined || this.held !== undefined;

  /** Takes all waiting work out of the inbox. */
  takeWork(): { readonly arrived: readonly Fault[]; readonly request: OperatorRequest | undefined } {
    const work = { arrived: this.inbox, request: this.asked };
    this.inbox = [];
    this.asked = undefined;
    return work;
  }

  remember(decision: NodeDecision): void {
    this.quietMs = decision.quietMs;
    this.askAgainMs = decision.askAgainMs;
    this.quietSince = decision.at;
    mergeFaults(this.faults, decision.faults);
    this.faults = this.faults.slice(-most.faults);
    for (const { kernel } of decision.faults) {
      if (kernel && (this.judged?.bootId !== kernel.bootId || kernel.sequence > this.judged.sequence)) this.judged = kernel;
    }
  }

  /** Holds a decided quarantine until it is granted; an earlier decision stays, unless a person takes it over. */
  hold({ because, at, reason = 'fault', preflight }: NodeDecision, incident: string, request: OperatorRequest | undefined): void {
    const { preflight: scope, ...before }: Partial<HeldQuarantine> = this.held ?? {};
    const fresh = { because, since: at, incident: before.incident ?? incident, reason, by: request?.by ?? 'kcover' };
    const isTests = request === undefined && preflight !== undefined && (this.held === undefined || scope !== undefined);
    this.held = { ...fresh, ...(request ? { reserved: before.reserved === true } : before), ...(isTests && { preflight: scope ?? preflight }) };
  }

  /** Drops a held quarantine that is no longer wanted, with its release, which must not apply to the next quarantine. */
  drop(): void {
    this.held = undefined;
    this.release = undefined;
    this.releaseAt = undefined;
  }

  /** The faults as jobs on the node receive them: with the state of the node. */
  withHold = (state: QuarantineStatus['state'], why: string, some: readonly Fault[] = this.faults): Fault[] =>
    some.slice(-most.faultsPerSignal).map((fault) => ({ ...fault, quarantine: { state, because: why.slice(0, 300) } }));

  /** Forgets the quarantine, but not what arrived meanwhile. */
  forget(): void {
    this.quarantine = undefined;
    this.drop();
    this.faults = [];
  }

  continueAsNewState(view: { readonly uid: string; readonly systemUuid: string } | undefined): ContinuedNode {
    return {
      faults: this.faults,
      inbox: this.inbox,
      quietSince: this.quietSince,
      quietMs: this.quietMs,
      askAgainMs: this.askAgainMs,
      dropped: this.dropped,
      because: this.because,
      ...(this.quarantine ? { quarantine: this.quarantine } : {}),
      ...(this.held ? { held: this.held } : {}),
      ...(this.judged ? { judged: this.judged } : {}),
      ...(this.asked ? { asked: this.asked } : {}),
      ...(this.release ? { release: this.release } : {}),
      ...(this.releaseAt === undefined ? {} : { releaseAt: this.releaseAt }),
      ...(view ? { uid: view.uid, systemUuid: view.systemUuid } : {}),
    };
  }
}
