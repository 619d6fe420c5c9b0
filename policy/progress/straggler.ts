/** What a trainer's own reports of its slowest rank say about training that has become slower. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { LoggedStraggler } from '../../contract/progress/logs.ts';

/** Some rank is always the slowest: fewer reports in a row say nothing. */
const enough = 5;

export interface RankedPod {
  readonly name: string;
  readonly node: string;
  /** Undefined where it has none, or where that is not known yet. */
  readonly rank: number | undefined;
  /** That its containers ask for. */
  readonly accelerators?: number;
}

/** `pods`: all of the attempt. A pod is named only where all of them have equally many accelerators. */
export function judgeStraggler(
  straggler: LoggedStraggler | undefined,
  pods: readonly RankedPod[],
): Pick<Fault, 'witnesses' | 'suspects'> {
  if (!straggler || straggler.reports < enough) return {};
  const { rank, reports } = straggler;
  const because = `the last ${reports} straggler reports in the log name rank ${rank} as the slowest`;
  const each = pods[0]?.accelerators ?? 0;
  const isUniform = each > 0 && pods.every(({ accelerators }) => accelerators === each);
  const holder = isUniform ? pods.find((pod) => pod.rank === Math.floor(rank / each)) : undefined;
  return {
    witnesses: [because],
    ...(holder && { suspects: [{ pod: holder.name, node: holder.node, rank, because }] }),
  };
}
