import type { NodeDecision } from '../../contract/wire/activities.ts';
import type { PreflightScope } from '../../contract/cluster.ts';
import { type Fault, type KernelPosition, nodeNotReady } from '../../contract/faults/faults.ts';
import type { NodeHistory } from '../../contract/node/history.ts';
import { isSameKernelLine } from '../../contract/faults/same-kernel-line.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { NodeOutcome, NodeQuarantine, NodeView } from '../../contract/node/nodes.ts';
import type { Ladder, RemedyProgress } from '../../contract/remedy/remedy.ts';
import { isObject, mergeFaults, textOf } from '../faults.ts';
import type { Message } from './messages.ts';

/**
 * At rest: `watching`, `awaiting-reservation` (a quarantine was decided and is refused so far) and `quarantined`. In between: `observing` reads
 * the node, `deciding` judges faults or a person's request, `reserving` asks the cluster's workflow, `quarantining` writes the taint, `releasing`
 * removes it. `closing`: the end is reported, and work that arrives meanwhile may still prevent it.
 */
export type NodeState = NodeData &
  (
    | { readonly phase: 'observing' }
    | { readonly phase: 'watching' }
    | { readonly phase: 'deciding'; readonly batch: Batch }
    | ({ readonly phase: 'reserving' } & Wanted)
    | ({ readonly phase: 'quarantining' } & Wanted)
    | { readonly phase: 'awaiting-reservation'; readonly held: HeldQuarantine }
    | { readonly phase: 'quarantined'; readonly quarantine: NodeQuarantine }
    | { readonly phase: 'releasing'; readonly request: OperatorRequest }
    | { readonly phase: 'closing'; readonly outcome: NodeOutcome }
    | { readonly phase: 'ended'; readonly outcome: NodeOutcome }
  );

export interface NodeData {
  /** Its name. */
  readonly node: string;
  /** As it was last read; missing before that, and when the Node object is gone. */
  readonly view?: NodeView | undefined;
  /** Something about the Node object changed since it was last read. */
  readonly stale: boolean;
  /** Never together with `held`. */
  readonly quarantine?: NodeQuarantine | undefined;
  readonly held?: HeldQuarantine | undefined;
  /** Those that count in this run, oldest first. */
  readonly faults: readonly Fault[];
  /** Not yet judged. */
  readonly inbox: readonly Fault[];
  /** Faults that were malformed, or did not fit. */
  readonly dropped: number;
  /** Highest kernel line judged. */
  readonly judged?: KernelPosition | undefined;
  /** What rules over time count. */
  readonly history: NodeHistory;
  /** How the node is repaired in this quarantine. */
  readonly remedy?: RemedyProgress | undefined;
  /** A fault convicted the node after its repair was proven, or a person took it over, and the repair has not reported since that it knows. */
  readonly doubted?: boolean;
  /** A person's request to quarantine the node. */
  readonly requested?: OperatorRequest | undefined;
  /** A person's request to release the node. */
  readonly release?: OperatorRequest | undefined;
  /** Earliest time of the next try of a release that failed, ms. */
  readonly releaseAt?: number | undefined;
  /** A refusal may no longer hold. */
  readonly recheck: boolean;
  readonly quietSince: number;
  readonly quietMs: number;
  readonly askAgainMs: number;
  readonly because: string;
  /** To be sent, in this order, before anything else is done. */
  readonly outbox: readonly Message[];
}

/** Faults, and a person's request, that are judged together. */
export interface Batch {
  readonly faults: readonly Fault[];
  readonly request?: OperatorRequest | undefined;
}

/** A quarantine on its way. */
interface Wanted {
  readonly view: NodeView;
  readonly held: HeldQuarantine;
  /** To be sent after what is sent about the quarantine itself. */
  readonly afterwards: readonly Message[];
}

/** A quarantine that was decided and is not in force. Times are milliseconds since the epoch. */
export interface HeldQuarantine {
  readonly because: string;
  readonly since: number;
  readonly incident: string;
  readonly reason: string;
  readonly by: string;
  readonly preflight?: PreflightScope;
  /** How the node is repaired once it is quarantined. */
  readonly ladder?: Ladder;
  /** No fault convicts the node: its jobs are not notified. */
  readonly asks?: true;
  /** Id of the open storm that it belongs to, as the cluster's workflow last answered. */
  readonly storm?: string | undefined;
  /** The reservation is granted, and the taint may have been written. */
  readonly reserved?: boolean;
  /** The refusal that was last reported to jobs and in Events. */
  readonly reported?: string;
  /** When a reservation is requested again if nothing changes. */
  readonly askAt: number;
}

/** Bounds of what is kept. */
const most = { faults: 50, inbox: 200 } as const;

export const firstState = (node: string, now: number): NodeState => ({
  phase: 'observing',
  node,
  stale: false,
  faults: [],
  history: [],
  inbox: [],
  dropped: 0,
  recheck: false,
  quietSince: now,
  quietMs: 0,
  askAgainMs: 60_000,
  because: 'reading the node',
  outbox: [],
});

export const isOut = ({ quarantine, held }: NodeData): boolean => quarantine !== undefined || held !== undefined;

export const hasArrivals = ({ inbox, requested }: NodeData): boolean => inbox.length > 0 || requested !== undefined;

export const mayRelease = (data: NodeData): boolean =>
  data.release !== undefined && data.releaseAt === undefined && isOut(data);

export const isAtRest = ({ phase }: NodeState): boolean =>
  phase === 'watching' || phase === 'awaiting-reservation' || phase === 'quarantined';

/** The event that begins what is to be done at once; undefined while there is nothing but to wait. */
export function pendingWork(
  data: NodeData,
): 'releaseBegun' | 'lookBegun' | 'reservationBegun' | 'decisionBegun' | undefined {
  if (mayRelease(data)) return 'releaseBegun';
  if (data.stale) return 'lookBegun';
  if (data.held && data.recheck) return 'reservationBegun';
  return hasArrivals(data) ? 'decisionBegun' : undefined;
}

/** When to act although nothing changes, ms: try a failed release again, ask again for a refused quarantine, end a quiet node. A quarantined node waits for a person. */
export function deadlineOf({ releaseAt, quarantine, held, quietSince, quietMs }: NodeData): number | undefined {
  if (releaseAt !== undefined || quarantine) return releaseAt;
  return held ? held.askAt : quietSince + quietMs;
}

/** Takes each fault once, also when two observers report the same kernel line; a line that was judged in this run is not judged again. */
export function withArrivals(state: NodeState, faults: readonly Fault[], dropped: number): NodeState {
  const batch = state.phase === 'deciding' ? state.batch.faults : [];
  const known = [...state.faults, ...batch, ...state.inbox];
  const fresh: Fault[] = [];
  for (const fault of faults) if (![...known, ...fresh].some((one) => isKnownBy(one, fault))) fresh.push(fault);
  if (fresh.length === 0 && dropped === 0) return state;
  const all = [...state.inbox, ...fresh];
  const inbox = bounded(all, most.inbox, 'newest');
  return { ...state, inbox, dropped: state.dropped + dropped + all.length - inbox.length };
}

/** Without those beyond `count`: first what others may have written, so that it displaces nothing from the node itself. */
function bounded(faults: readonly Fault[], count: number, first: 'oldest' | 'newest'): readonly Fault[] {
  if (faults.length <= count) return faults;
  const inOrder = first === 'oldest' ? faults : faults.toReversed();
  const displaced = inOrder.toSorted((a, b) => Number(b.untrusted ?? false) - Number(a.untrusted ?? false));
  const dropped = new Set(displaced.slice(0, faults.length - count));
  return faults.filter((fault) => !dropped.has(fault));
}

/** A line that others may have written does not stand for the same line from the node itself. */
const isKnownBy = (one: Fault, fault: Fault): boolean =>
  one.id === fault.id || (isSameKernelLine(one, fault) && (one.untrusted !== true || fault.untrusted === true));

/** A person's request from a signal, which no validator has seen. */
export function requestIn(payload: unknown): OperatorRequest {
  const { by, reason } = isObject(payload) ? payload : {};
  return { by: textOf(by) ?? 'signal', reason: textOf(reason) ?? 'asked by signal' };
}

/** Keeps the faults that count, what rules remember, and the times that the decision sets. */
export function remember<Data extends NodeData>(
  data: Data,
  { faults, history, quietMs, askAgainMs, at }: NodeDecision,
): Data {
  const known = [...data.faults];
  mergeFaults(known, faults);
  let { judged } = data;
  for (const { kernel } of faults)
    if (kernel && (judged?.bootId !== kernel.bootId || kernel.sequence > judged.sequence)) judged = kernel;
  return {
    ...data,
    faults: bounded(known, most.faults, 'oldest'),
    history,
    judged,
    quietMs,
    askAgainMs,
    quietSince: at,
  };
}

/** Where the node stays until something arrives or a time passes. */
export function atRest(data: NodeData): NodeState {
  const { quarantine, held } = data;
  if (quarantine) return { ...data, phase: 'quarantined', quarantine };
  return held ? { ...data, phase: 'awaiting-reservation', held } : { ...data, phase: 'watching' };
}

/** Requests the reservation now. */
export function reserving(
  before: NodeData,
  wanted: Omit<HeldQuarantine, 'askAt'>,
  at: number,
  afterwards: readonly Message[] = [],
): NodeState {
  const held = { ...wanted, askAt: at + before.askAgainMs };
  const data = { ...before, held, recheck: false };
  return data.view
    ? { ...data, phase: 'reserving', view: data.view, held, afterwards }
    : atRest(withMessages(data, ...afterwards));
}

export const ended = (data: NodeData, outcome: NodeOutcome): NodeState => ({
  ...data,
  phase: 'ended',
  because: outcome.because,
  outcome,
});

export const withMessages = <Data extends NodeData>(data: Data, ...messages: readonly Message[]): Data => ({
  ...data,
  outbox: [...data.outbox, ...messages],
});

/** Holds a decided quarantine until it is granted; an earlier decision stays, unless a person takes it over. */
export function heldFor(
  held: HeldQuarantine | undefined,
  { because, at, reason = 'fault', preflight, asks, ladder }: NodeDecision,
  incident: string,
  request: OperatorRequest | undefined,
): Omit<HeldQuarantine, 'askAt'> {
  const { preflight: scope, asks: asked, ladder: known, reported, ...before }: Partial<HeldQuarantine> = held ?? {};
  const isAsked = asks === true && request === undefined && (held === undefined || asked === true);
  const fresh = { because, since: at, incident: before.incident ?? incident, reason, by: request?.by ?? 'kcover' };
  const isTests = request === undefined && preflight !== undefined && (held === undefined || scope !== undefined);
  return {
    ...fresh,
    ...(request ? { reserved: before.reserved === true } : before),
    // A question that is answered has another reason, and its jobs do not know yet that it was refused.
    ...(asked && !isAsked ? { because, reason } : !request && reported !== undefined && { reported }),
    ...(isTests && { preflight: scope ?? preflight }),
    // What a person takes over, a person repairs.
    ...(!request && (ladder ?? known) && { ladder: ladder ?? known }),
    // One conviction, or a person, is enough.
    ...(isAsked && { asks: true as const }),
  };
}

/** Drops a held quarantine that is no longer wanted, with its release, which must not apply to the next quarantine. */
export const withoutHeld = <Data extends NodeData>(data: Data): Data => ({
  ...data,
  held: undefined,
  release: undefined,
  releaseAt: undefined,
  recheck: false,
});

/** Forgets the quarantine, but not what arrived meanwhile. */
export const forgotten = <Data extends NodeData>(data: Data): Data => ({
  ...withoutHeld(data),
  quarantine: undefined,
  remedy: undefined,
  doubted: false,
  faults: [],
});

/** The incident of the taint that the node has, or may have: a failed write may have succeeded, and an earlier run may have left its own. */
export function incidentOnNode({ view, quarantine, held }: NodeData): string | undefined {
  if (quarantine) return quarantine.incident;
  if (held?.reserved) return held.incident;
  return view?.taint?.ours ? (view.taint.incident ?? held?.incident) : undefined;
}

/** A fault that no person's request changes: only Kubernetes says whether the node is ready. */
export const isOutage = (fault: Fault): boolean => fault.code === nodeNotReady;
