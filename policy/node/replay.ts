/** Judges a recorded stream of faults, one after the other, as the workflows of their nodes would. Memory is bounded by the number of nodes. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { NodeHistory } from '../../contract/node/history.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { judgeFaults, type Verdict } from './judge.ts';

export interface NodeReplay {
  /** The verdict; undefined for one more line of a burst to which no rule applies. */
  take(fault: Fault, at: number): Verdict | undefined;
  /** What is remembered of each node: as JSON it continues the replay. */
  state(): Readonly<Record<string, NodeHistory>>;
}

export function nodeReplay(settings: WorkerSettings, state: Readonly<Record<string, NodeHistory>> = {}): NodeReplay {
  const histories = new Map(Object.entries(state));
  return {
    take(fault, at) {
      const node = fault.node ?? '';
      const known = { history: histories.get(node) ?? [], now: at, again: false };
      const { verdicts, history } = judgeFaults([fault], known, settings);
      histories.set(node, history);
      const [verdict] = verdicts;
      const isNew = verdict !== undefined && (!verdict.repeated || isRuled(verdict));
      return isNew ? verdict : undefined;
    },
    state: () => Object.fromEntries(histories),
  };
}

/** A rule applied that leads to something. */
const isRuled = ({ rules, effects }: Verdict): boolean => rules.length > 0 && effects.length > 0;
