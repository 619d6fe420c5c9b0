/** What can happen to a node's workflow: signals, updates, timers, and the answers of activities and decisions. Times are milliseconds since the epoch. */

import type { NodeDecision } from '../../contract/wire/activities.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { RemedyProgress } from '../../contract/remedy/remedy.ts';
import type { NodeView } from '../../contract/node/nodes.ts';

export type NodeEvent =
  | { readonly kind: 'faultsObserved'; readonly faults: readonly Fault[]; readonly dropped: number }
  /** Something about the Node object changed. */
  | { readonly kind: 'nodeObserved' }
  /** A refusal may no longer hold. */
  | { readonly kind: 'recheckRequested' }
  | { readonly kind: 'remedyProgressed'; readonly progress: RemedyProgress }
  | { readonly kind: 'quarantineRequested'; readonly request: OperatorRequest }
  | { readonly kind: 'releaseRequested'; readonly request: OperatorRequest }
  /** The first message of the outbox was sent, or given up. */
  | { readonly kind: 'sent' }
  /** A new run goes on with the state of the one before. */
  | { readonly kind: 'runContinued' }
  | { readonly kind: 'releaseBegun'; readonly at: number }
  | { readonly kind: 'lookBegun'; readonly at: number }
  | { readonly kind: 'reservationBegun'; readonly at: number }
  | { readonly kind: 'decisionBegun'; readonly at: number }
  /** The timer fired that was started for `deadline`. */
  | { readonly kind: 'deadlinePassed'; readonly deadline: number; readonly at: number }
  /** The Node object; null when there is none. */
  | { readonly kind: 'observed'; readonly view: NodeView | null; readonly at: number }
  | { readonly kind: 'decided'; readonly decision: NodeDecision; readonly at: number }
  /** The decision behind a held quarantine was made again and is another one, perhaps under other settings. */
  | { readonly kind: 'noLongerWanted'; readonly decision: NodeDecision }
  /** `storm`: id of the open storm that the quarantine belongs to. */
  | { readonly kind: 'reserved'; readonly incident: string; readonly storm?: string | undefined }
  | { readonly kind: 'refused'; readonly because: string; readonly storm?: string | undefined }
  /** The taint was read back. */
  | { readonly kind: 'quarantineWritten'; readonly taint: 'ours' | 'other'; readonly at: number }
  | { readonly kind: 'quarantineNotWritten'; readonly because: string }
  /** No taint of this incident is on the node. `removed`: this release removed it. */
  | { readonly kind: 'released'; readonly removed: boolean; readonly remainingTaint?: string; readonly at: number }
  | { readonly kind: 'releaseFailed'; readonly because: string; readonly at: number }
  /** The machine to release no longer exists. */
  | { readonly kind: 'releaseFoundNoNode' }
  /** Every Event was written, or given up. */
  | { readonly kind: 'eventsWritten' }
  /** The machine is gone: the Node object that has its name now, read when `arrivals` faults waited. */
  | { readonly kind: 'successorObserved'; readonly view: NodeView | null; readonly arrivals: number };

export type NodeEventOf<Kind extends NodeEvent['kind']> = Extract<NodeEvent, { readonly kind: Kind }>;
