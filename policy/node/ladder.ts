/** How a quarantined node is repaired. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { Ladder } from '../../contract/remedy/remedy.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { isCode } from './rules/rule.ts';

/** The first ladder that fits a fault which convicts the node; undefined when the settings repair no node, or name no ladder for it. */
export function ladderFor(
  convicting: readonly Fault[],
  { remediation }: Pick<WorkerSettings, 'remediation'>,
): Ladder | undefined {
  const { mode, ladders, probation, drain, memory } = remediation;
  if (mode !== 'run') return undefined;
  for (const { name, codes, rungs, release } of ladders) {
    const fault = convicting.find(({ code }) => codes.some((pattern) => isCode(pattern, code)));
    if (!fault) continue;
    return {
      name,
      because: `ladder ${name} is for ${fault.code}`,
      rungs: rungs.map(({ hook, attempts, timeout, proof, verify }) => ({
        hook,
        attempts,
        timeoutMs: timeout,
        proof,
        ...(verify !== undefined && { verify }),
      })),
      probationMs: probation,
      release,
      retireAt: memory.incidents,
      memoryMs: memory.window,
      ...(drain > 0 && { drainMs: drain }),
    };
  }
  return undefined;
}
