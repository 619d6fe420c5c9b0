/** The interface of detectors: each is one file that watches one source, and one line in `index.ts`. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import type { Gap } from '../../contract/wire/reports.ts';
import type { AgentSettings } from '../../contract/settings/settings.schema.ts';

/** What the agent provides to a detector. */
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
  /** Reports that something was missed. */
  gap(gap: Omit<Gap, 'seenAt'>): Promise<void>;
  /** Whether everything reported so far would survive the end of this process; until then no position may be saved. */
  settled(): boolean;
}

/** A running detector. */
export interface RunningDetector {
  stop(): Promise<void>;
  status(): DetectorStatus;
}

export interface DetectorStatus {
  /** `unavailable`: it cannot read its source, which is never evidence of a fault. `off`: the settings give it nothing to watch. */
  readonly state: 'starting' | 'watching' | 'unavailable' | 'off';
  /** One sentence. */
  readonly because: string;
  /** Lines that it has read since the start. */
  readonly read: number;
}

export interface Detector {
  /** What it watches, for people. */
  readonly watches: string;
  /** Returns at once, and waits for a source that does not exist yet. */
  start(context: DetectorContext): RunningDetector;
}
