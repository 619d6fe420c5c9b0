/**
 * How many faults of one node are sent on to Temporal. A tenant's program can make the driver print the same line a thousand times: repeats
 * are accepted but not sent, so that other faults are not delayed behind them. Faults above the limit that are no repeats wait on their node.
 */

import type { Fault } from '../../contract/faults/faults.ts';
import type { Report } from '../../contract/wire/reports.ts';
import { openBuckets } from './token-bucket.ts';

export interface FaultLimits {
  /** Of one node. */
  readonly perMinute: number;
  /** Repeats of one code on one device of a node. */
  readonly repeats: number;
}

export interface RateDecision {
  /** Reports from the front that were handled; the others may come later. */
  readonly through: readonly Report[];
  readonly send: readonly Fault[];
  /** Time until the others may come, ms. */
  readonly waitMs: number;
  /** Takes the admission back, because nothing was sent. */
  undo(): void;
}

export interface FaultRates {
  /** `reports`: in the order of their numbers. */
  admit(node: string, reports: readonly Report[]): RateDecision;
}

/** `now`: monotonic, ms. */
export function limitFaults({ perMinute, repeats }: FaultLimits, now: () => number): FaultRates {
  const ofNodes = openBuckets({ perSecond: perMinute / 60, burst: perMinute }, now);
  const ofCodes = openBuckets({ perSecond: repeats / 60, burst: repeats }, now);
  const keyOf = (node: string, { code, device }: Fault) => `${node} ${code} ${device ?? ''}`;

  return {
    admit(node, reports) {
      const send: Fault[] = [];
      let processed = 0;
      for (const { fault } of reports) {
        const key = keyOf(node, fault);
        if (ofCodes.waitMs(key) === 0) {
          if (!ofNodes.take(node)) break;
          ofCodes.take(key);
          send.push(fault);
        }
        processed += 1;
      }
      return {
        through: reports.slice(0, processed),
        send,
        waitMs: ofNodes.waitMs(node),
        undo() {
          for (const fault of send) {
            ofNodes.give(node);
            ofCodes.give(keyOf(node, fault));
          }
        },
      };
    },
  };
}
