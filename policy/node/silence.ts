/** Silences: faults that somebody expects, until a time. */

import type { Fault } from '../../contract/faults/faults.ts';
import { isCode } from './rules/rule.ts';

interface Silence {
  readonly codes?: readonly string[] | undefined;
  readonly nodes?: readonly string[] | undefined;
  readonly jobs?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly until: string;
  readonly reason: string;
  readonly owner: string;
}

/** Why the fault leads to nothing now; undefined when no silence is about it. `job`: `namespace/name` where a job decides, not a node. */
export function whySilent(
  { code, node }: Pick<Fault, 'code' | 'node'>,
  silences: readonly Silence[],
  now: number,
  job?: string,
): string | undefined {
  const silence = silences.find(
    ({ codes, nodes, jobs, from, until }) =>
      (from === undefined || Date.parse(from) <= now) &&
      now < Date.parse(until) &&
      (codes?.some((one) => isCode(one, code)) ?? true) &&
      (nodes === undefined || (node !== undefined && nodes.includes(node))) &&
      (jobs === undefined || (job !== undefined && jobs.includes(job))),
  );
  return silence && `silenced by ${silence.owner} until ${silence.until}: ${silence.reason}`;
}
