import type {
  ContinuedCluster,
  ClusterSeen,
  ClusterStatus,
  Paused,
  PauseWord,
  ReserveAnswer,
  ReserveLimit,
  ReserveRequest,
  Reservation,
} from '../contract/cluster.ts';
import type { OperatorRequest } from '../contract/messages.ts';

/** A workflow beyond this bound is not notified: it asks again by itself. */
const mostWaiting = 1000;

/** State that a cluster shares: which nodes may be out, and whether a person has paused everything. Plain bookkeeping. */
export class ClusterState {
  readonly reservations: Map<string, Reservation>;
  readonly waiting: Set<string>;
  paused: Paused | undefined;
  /** A pause, or its end, that is not yet stored outside of this workflow. */
  unkept: PauseWord | undefined;
  /** Why it could not be stored so far. */
  unkeptBecause: string | undefined;
  /** Whether the nodes that were already out are counted: before that, a limit would begin from zero. */
  isCounted: boolean;
  /** A refusal may no longer hold. */
  changed: boolean;
  private hasPauseWord = false;

  constructor(continued: ContinuedCluster | undefined) {
    this.reservations = new Map(continued?.reservations.map((one) => [one.nodeUid, one]));
    this.waiting = new Set(continued?.waiting);
    this.paused = continued?.paused;
    this.unkept = continued?.unkept;
    this.isCounted = continued !== undefined;
    this.changed = continued !== undefined;
  }

  /** Adds what was there before this run. What this run recorded itself is newer. */
  count({ out, pause }: ClusterSeen): void {
    for (const one of out) if (!this.reservations.has(one.nodeUid)) this.reservations.set(one.nodeUid, one);
    if (!this.hasPauseWord && pause) this.paused = pause.state === 'paused' ? { by: pause.by, reason: pause.reason, since: pause.at } : undefined;
    this.hasPauseWord = true;
    this.isCounted = true;
    this.changed = true;
  }

  reserve({ wanted, limit }: ReserveRequest, now: number): ReserveAnswer[] {
    return wanted.map(({ byOperator, ...one }): ReserveAnswer => {
      const { nodeUid } = one;
      const because = byOperator ? undefined : this.whyNot(one, limit);
      if (because !== undefined) return { granted: false, nodeUid, because };
      const reservation = this.reservations.get(nodeUid) ?? { ...one, since: now };
      this.reservations.set(nodeUid, reservation);
      return { granted: true, nodeUid, incident: reservation.incident };
    });
  }

  private whyNot({ nodeUid, preflight }: Pick<Reservation, 'nodeUid' | 'preflight'>, limit: ReserveLimit): string | undefined {
    // A write that was granted before the pause and is retried waits too.
    if (this.paused) return `paused by ${this.paused.by}: ${this.paused.reason}`;
    if (this.reservations.has(nodeUid)) return undefined;
    const out = this.reservations.size;
    if (out >= limit.nodes) return `${out} nodes are out and ${limit.nodes} may be (${limit.because})`;
    return preflight && this.whyNotByPreflight(preflight.namespace, limit.preflight);
  }

  private whyNotByPreflight(namespace: string, { nodes, perNamespace, because }: ReserveLimit['preflight']): string | undefined {
    const out = [...this.reservations.values()].flatMap(({ preflight }) => preflight ?? []);
    if (out.length >= nodes) return `${out.length} nodes are out because of preflights alone and ${nodes} may be (${because})`;
    const own = out.filter((one) => one.namespace === namespace).length;
    return own >= perNamespace ? `${own} nodes are out because of preflights in ${namespace} alone and ${perNamespace} may be (${because})` : undefined;
  }

  pause({ by, reason }: OperatorRequest, now: number): Paused {
    this.say({ state: 'paused', by, reason, at: now });
    this.paused = { by, reason, since: now };
    return this.paused;
  }

  resume({ by, reason }: OperatorRequest, now: number): { wasPaused: boolean } {
    const wasPaused = this.paused !== undefined;
    this.say({ state: 'open', by, reason, at: now });
    this.paused = undefined;
    this.changed = true;
    return { wasPaused };
  }

  private say(word: PauseWord): void {
    this.hasPauseWord = true;
    this.unkept = word;
    this.unkeptBecause = undefined;
  }

  wait(workflowId: string | undefined): void {
    if (workflowId !== undefined && this.waiting.size < mostWaiting) this.waiting.add(workflowId);
  }

  releaseReservations(nodeUids: readonly unknown[]): void {
    for (const uid of nodeUids) if (typeof uid === 'string') this.changed = this.reservations.delete(uid) || this.changed;
  }

  /** Takes out the workflows to notify that a refusal may no longer hold. */
  takeWaiting(): string[] {
    const waiting = [...this.waiting].toSorted();
    this.waiting.clear();
    this.changed = false;
    return waiting;
  }

  /** Names of the nodes that are out, sorted. */
  nodes = (): string[] => [...this.reservations.values()].map(({ node }) => node).toSorted();

  status(): Omit<ClusterStatus, 'clusterUid'> {
    return {
      reservations: [...this.reservations.values()],
      waiting: [...this.waiting],
      counted: this.isCounted,
      ...(this.paused && { paused: this.paused }),
      ...(this.unkept && { unkept: this.unkeptBecause ?? 'it is being written' }),
    };
  }

  continueAsNewState(): ContinuedCluster {
    return {
      reservations: [...this.reservations.values()],
      waiting: [...this.waiting],
      ...(this.paused && { paused: this.paused }),
      ...(this.unkept && { unkept: this.unkept }),
    };
  }
}
