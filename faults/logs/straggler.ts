/** Megatron's report of slow ranks (`--log-straggler`). Source: `StragglerDetector` in `megatron/core/utils.py`. */

import type { StragglerEvent } from './log-event.ts';
import { wholeOf } from './presets/find.ts';

const lowest = /^MnEtpt\/Rnk: \d{1,9}(?:\.\d{1,4})?TF\/(\d{1,6})/;
const bottom = /^Bottom \d{1,6} Ranks with lowest {1,4}Etpt\(TF\): \d{1,9}(?:\.\d{1,4})?(?:TF)?\/(\d{1,6})/;

const rankIn = (line: string, from: string, pattern: RegExp): number | undefined => {
  const at = line.indexOf(from);
  return at === -1 ? undefined : wholeOf(pattern.exec(line.slice(at))?.[1]);
};

/** One event for each report, although it names its slowest rank in two lines. Some rank is always the slowest, so one report says little. */
export function createStragglerReader(): { take(line: string): StragglerEvent | undefined } {
  let named: number | undefined;
  return {
    take(line) {
      const slowest = rankIn(line, 'MnEtpt/Rnk: ', lowest);
      const again = slowest === undefined ? rankIn(line, 'Bottom ', bottom) : undefined;
      const before = named;
      if (slowest !== undefined || again !== undefined) named = slowest;
      const rank = slowest ?? (again === before ? undefined : again);
      return rank === undefined ? undefined : { kind: 'straggler', rank };
    },
  };
}
