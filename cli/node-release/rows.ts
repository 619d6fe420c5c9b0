import type { CommandOutput } from '../program/command.ts';
import { table } from '../program/output.ts';

/** What happened to one node. */
export interface ReleaseRow {
  readonly node: string;
  readonly incident: string | null;
  readonly outcome: string;
  readonly because: string | null;
}

export const inRows = (rows: readonly ReleaseRow[], ifNone: string): CommandOutput => ({
  data: rows,
  text:
    rows.length === 0
      ? ifNone
      : table(
          ['node', 'outcome', 'incident', 'because'],
          rows.map(({ node, outcome, incident, because }) => [node, outcome, incident ?? '', because ?? '']),
        ),
  exit: rows.some(({ outcome }) => outcome === 'failed') ? 'failed' : 'ok',
});
