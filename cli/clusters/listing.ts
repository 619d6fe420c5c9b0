/** A list of rows, of one cluster or of several, as the output of a command. */

import type { CommandOutput, WatchedItem } from '../program/command.ts';
import { table } from '../program/output.ts';
import { type Answer, failureData, failureLine } from './clusters.ts';

export interface ListedRow extends WatchedItem {
  readonly cells: readonly string[];
  readonly data: object;
}

export interface Listing {
  readonly head: readonly string[];
  readonly rows: readonly ListedRow[];
  /** What is printed where there are no rows. */
  readonly none: string;
}

export const listed = ({ head, rows, none }: Listing): CommandOutput => ({
  data: rows.map(({ data }) => data),
  items: rows.map(({ about, line, data }) => ({ about, line, data })),
  text:
    rows.length === 0
      ? none
      : table(
          head,
          rows.map(({ cells }) => cells),
        ),
});

/** Each row says its cluster. A cluster that did not answer is one row of the data, and one line below the table. */
export function listedByCluster(answers: readonly Answer<Listing>[]): CommandOutput {
  const found = answers.flatMap((answer) => ('found' in answer ? [answer] : []));
  const failed = answers.flatMap((answer) => ('failure' in answer ? [answer] : []));
  const output = listed({
    head: ['cluster', ...(found[0]?.found.head ?? [])],
    rows: found.flatMap(({ cluster, found: { rows } }) => rows.map((row) => rowOf(cluster, row))),
    none: found[0]?.found.none ?? '',
  });
  const failures = failed.map(({ cluster, failure }) => ({
    about: cluster,
    line: failureLine(cluster, failure),
    data: failureData(cluster, failure),
  }));
  return {
    data: [...(output.data as readonly object[]), ...failures.map(({ data }) => data)],
    items: [...(output.items ?? []), ...failures],
    text: [output.text, ...failures.map(({ line }) => line)].filter((part) => part !== '').join('\n'),
    ...(failed.length > 0 && { exit: failed.some(({ failure }) => failure.transient) ? 'unreachable' : 'failed' }),
  };
}

const rowOf = (cluster: string, { about, line, cells, data }: ListedRow): ListedRow => ({
  about: `${cluster} ${about}`,
  line: `${cluster}   ${line}`,
  cells: [cluster, ...cells],
  data: { cluster, ...data },
});
