/** What a detector is: one file that watches one thing, and one line in `index.ts`. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults.ts';
import type { Gap } from '../../contract/reports.ts';
import type { AgentSettings } from '../../contract/settings.schema.ts';

/** What the agent gives to a detector. */
export interface DetectorContext {
  readonly settings: AgentSettings;
  readonly node: string;
  /** Files of the node are opened below it, with `host-root.ts` only. */
  readonly hostRoot: string;
  /** Where a detector may keep a small file of its own across restarts. */
  readonly stateDirectory: string;
  readonly log: Logger;
  /** Resolves when the fault is in the spool. The same id may be given again after a crash. */
  fault(fault: Fault): Promise<void>;
  /** Something was missed. */
  gap(gap: Omit<Gap, 'seenAt'>): Promise<void>;
  /** Whether everything given so far would survive the end of this process; before that, no position may be moved on. */
  settled(): boolean;
}

/** A detector at work. */
export interface RunningDetector {
  stop(): Promise<void>;
  status(): DetectorStatus;
}

export interface DetectorStatus {
  /** `blind`: it cannot see; that is never evidence of a fault. */
  readonly state: 'starting' | 'watching' | 'unavailable';
  /** One sentence. */
  readonly because: string;
  /** Lines that it has looked at since the start. */
  readonly read: number;
}

export interface Detector {
  /** What it looks at, for people. */
  readonly watches: string;
  /** Returns at once; what is not there yet is waited for. */
  start(context: DetectorContext): RunningDetector;
}
