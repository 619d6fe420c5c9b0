/** The report of torchrun when processes on its node have failed. Source: `errors/__init__.py` of torch.distributed.elastic. */

import type { TorchrunEvent } from './log-event.ts';
import { wholeOf } from './presets/find.ts';

const begin = 'Root Cause (first observed failure):';

/** Lines after its first in which the fields of the block are expected. */
const most = 12;

const field = /(?:^|\s)(host|rank|exitcode) {0,9}: (\S{1,253})(?: \(local_rank: (\d{1,6})\))?/;

/** Reads lines; gives an event when the block has the rank and the exit code. */
export function createTorchrunReader(): { take(line: string): TorchrunEvent | undefined } {
  let left = 0;
  let found: Partial<{ host: string; rank: number; localRank: number }> = {};
  return {
    take(line) {
      if (line.includes(begin)) {
        left = most;
        found = {};
        return undefined;
      }
      if (left === 0) return undefined;
      left -= 1;
      const [, name, value = '', local] = field.exec(line.slice(0, 400)) ?? [];
      if (name === 'host') found = { ...found, host: value };
      const [rank, localRank] = [wholeOf(value), wholeOf(local)];
      if (name === 'rank' && rank !== undefined)
        found = { ...found, rank, ...(localRank !== undefined && { localRank }) };
      if (name !== 'exitcode' || found.rank === undefined) return undefined;
      left = 0;
      const exitCode = Number(/^-?\d{1,9}$/.exec(value)?.[0] ?? Number.NaN);
      return { kind: 'torchrun', ...found, rank: found.rank, ...(!Number.isNaN(exitCode) && { exitCode }) };
    },
  };
}
