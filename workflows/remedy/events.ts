/** What can happen to a remedy: signals, timers, and the answers of activities. Times are milliseconds since the epoch. */

import type { Fault } from '../../contract/faults/faults.ts';
import type {
  DrainResult,
  HookResult,
  MachineView,
  ProofResult,
  Recalled,
  RemedyPermit,
} from '../../contract/remedy/remedy.ts';

export type RemedyEvent =
  | {
      readonly kind: 'faultsObserved';
      readonly faults: readonly Fault[];
      readonly dropped: number;
      readonly at: number;
    }
  /** The node is released, gone, or a person's. */
  | { readonly kind: 'cancelRequested'; readonly because: string; readonly at: number }
  /** A refusal may no longer hold. */
  | { readonly kind: 'recheckRequested' }
  /** The first message of the outbox was sent, or given up. */
  | { readonly kind: 'sent' }
  /** Undefined: nothing could be read. */
  | { readonly kind: 'recalled'; readonly recalled?: Recalled | undefined }
  | { readonly kind: 'permitAnswered'; readonly permit: RemedyPermit; readonly at: number }
  /** What is waited for may have come; or the timer fired that was started for `deadline`. */
  | { readonly kind: 'waitEnded'; readonly deadline?: number }
  | { readonly kind: 'drainEnded'; readonly result: DrainResult; readonly at: number }
  /** The machine before a hook; null when there is none. */
  | { readonly kind: 'machineObserved'; readonly view: MachineView | null; readonly at: number }
  /** `operation`: of the run that the answer is about. */
  | { readonly kind: 'hookEnded'; readonly operation: string; readonly result: HookResult; readonly at: number }
  | { readonly kind: 'proofEnded'; readonly operation: string; readonly result: ProofResult; readonly at: number }
  /** The machine when its probation is over. */
  | { readonly kind: 'probationEnded'; readonly view: MachineView | null; readonly at: number };

export type RemedyEventOf<Kind extends RemedyEvent['kind']> = Extract<RemedyEvent, { readonly kind: Kind }>;
