/** What a source says when it is read once: the faults in it, and what it could not observe. */

import type { Action } from '../contract/faults/action.ts';
import type { Standing } from '../contract/faults/faults.ts';
import type { FaultSource } from '../contract/faults/sources.ts';

/** A fault without the time, the id and the position that only an observer over time can give. */
export interface Finding {
  readonly source: FaultSource;
  /** As in `Fault.code`. */
  readonly code: string;
  readonly node?: string;
  /** PCI address `dddd:bb:dd`, or the name of the device where the source gives no address. */
  readonly device?: string;
  /** What the vendor or the table of the source says to do; absent when it says nothing. */
  readonly action?: Action;
  readonly standing?: Standing;
  /** What the source said, on one line of at most 500 characters. */
  readonly message: string;
  /** One sentence: what the code means, and where the action comes from. */
  readonly because: string;
}

/** Something that the source should say and does not: never evidence of a fault. */
export interface Unobserved {
  readonly source: FaultSource;
  /** A condition, a resource, a field or a device. */
  readonly what: string;
  readonly node?: string;
  readonly because: string;
}

export interface Findings {
  readonly faults: readonly Finding[];
  readonly unobservable: readonly Unobserved[];
}

/** How deep a fault goes, by what must be restarted or replaced before the node can be used again. */
export const levels = ['info', 'job', 'device', 'node', 'hardware', 'unknown'] as const;
export type Level = (typeof levels)[number];

const levelOfAction: Readonly<Record<Action, Level>> = {
  ignore: 'info',
  'restart-app': 'job',
  'reset-gpu': 'device',
  reboot: 'node',
  'contact-support': 'hardware',
};

export const levelOf = ({ action, standing }: Pick<Finding, 'action' | 'standing'>): Level =>
  action === undefined || standing === 'unknown' ? 'unknown' : levelOfAction[action];
