/** A rule about faults over time, as data. */

import type { Action } from '../../../contract/faults/action.ts';
import type { Effect } from '../../../contract/node/history.ts';

/** Which faults a rule is about: all that match every field. */
export interface Match {
  /** Codes; one that ends with `*` stands for all that begin so. */
  readonly codes: readonly string[];
  readonly actions?: readonly Action[];
}

/** What faults must have in common to be counted together. */
export type Unit = 'place' | 'device' | 'node';

interface Named {
  readonly name: string;
  readonly of: Match;
  /** Why, as the end of a sentence, for people. */
  readonly because: string;
  /** Who found it out. */
  readonly source: string;
}

/** `count` bursts within `within` ms; faults at most `gap` ms apart are one burst. One burst: every one. */
export interface RepeatRule extends Named {
  readonly kind: 'repeat';
  readonly by: Unit;
  readonly count: number;
  readonly within: number;
  readonly gap: number;
  /** Only while the same happens at no other place of the device, or on no other device of the node: then it is the program. */
  readonly alone?: true;
  readonly effects: readonly Effect[];
}

/** It goes on for `atLeast` ms with no pause of more than `gap` ms. */
export interface LastingRule extends Named {
  readonly kind: 'lasting';
  readonly by: Unit;
  readonly atLeast: number;
  readonly gap: number;
  readonly effects: readonly Effect[];
}

/** It is a consequence of another fault within `within` ms, and has no effect of its own unless that is stronger than the other's. */
export interface ConsequenceRule extends Named {
  readonly kind: 'consequence';
  readonly causes: Match;
  readonly on: 'device' | 'other-device' | 'node';
  readonly within: number;
}

/** It takes back what earlier faults of its device lead to, as far as that has not been done. */
export interface CancelRule extends Named {
  readonly kind: 'cancel';
  readonly cancels: readonly string[];
}

export type Rule = RepeatRule | LastingRule | ConsequenceRule | CancelRule;

export const matches = (
  { codes, actions }: Match,
  { code, action }: { readonly code: string; readonly action?: Action },
): boolean =>
  codes.some((one) => isCode(one, code)) &&
  (actions === undefined || (action !== undefined && actions.includes(action)));

export const isCode = (pattern: string, code: string): boolean =>
  pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern;
