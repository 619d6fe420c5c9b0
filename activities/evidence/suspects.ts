/** Compares the logs of all ranks while they are stored. */

import { evidenceLimits, type Suspect } from '../../contract/recovery/evidence.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { type RankLog, readRankLog, suspectsOf } from '../../faults/logs/suspects.ts';

/** Logs of one pod: of its containers, and from before their last restarts. */
export class RankLogs {
  readonly #byPod = new Map<string, RankLog>();

  /** `cut`: `text` is only the end of the log. */
  add(of: Pick<RankLog, 'pod' | 'node'>, text: string, cut: boolean): void {
    const lines = text.trimEnd().split('\n');
    const found = readRankLog(of, lines, { cut: cut || lines.length >= evidenceLimits.logLines });
    const before = this.#byPod.get(of.pod);
    this.#byPod.set(of.pod, before ? merged(before, found) : found);
  }

  suspects = (): readonly Suspect[] =>
    suspectsOf([...this.#byPod.values()]).map((one) => ({ ...one, because: foreignText(one.because, 300) }));
}

/** It is known of a pod that it was silent only as far back as all of its logs go. */
function merged(one: RankLog, other: RankLog): RankLog {
  const since = Math.max(one.since ?? -Infinity, other.since ?? -Infinity);
  const watchdogAt = Math.min(one.watchdogAt ?? Infinity, other.watchdogAt ?? Infinity);
  const { pod, node } = one;
  return {
    pod,
    ...(node !== undefined && { node }),
    events: [...one.events, ...other.events],
    ...(since !== -Infinity && { since }),
    ...(watchdogAt !== Infinity && { watchdogAt }),
  };
}
