/** Suppressions: faults that a person expects, until a time. */

import type { Fault } from '../../contract/faults/faults.ts';
import { isCode } from './rules/rule.ts';

interface Suppression {
  readonly codes?: readonly string[] | undefined;
  readonly nodes?: readonly string[] | undefined;
  readonly jobs?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly until: string;
  readonly reason: string;
  readonly owner: string;
}

/** Why the fault leads to nothing now; undefined when no suppression is about it. `job`: `namespace/name` where a job decides, not a node. */
export function whySuppressed(
  { code, node }: Pick<Fault, 'code' | 'node'>,
  suppressions: readonly Suppression[],
  now: number,
  job?: string,
): string | undefined {
  const suppression = suppressions.find(
    ({ codes, nodes, jobs, from, until }) =>
      (from === undefined || Date.parse(from) <= now) &&
      now < Date.parse(until) &&
      (codes?.some((one) => isCode(one, code)) ?? true) &&
      (nodes === undefined || (node !== undefined && nodes.includes(node))) &&
      (jobs === undefined || (job !== undefined && jobs.includes(job))),
  );
  return suppression && `suppressed by ${suppression.owner} until ${suppression.until}: ${suppression.reason}`;
}
