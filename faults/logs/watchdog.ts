/** What PyTorch's watchdog over NCCL collectives, and the rank monitor of nvidia-resiliency-ext, print. Source: `ProcessGroupNCCL.cpp`, `rank_monitor_server.py`. */

import type { WatchdogEvent } from './log-event.ts';
import { wholeOf } from './presets/find.ts';

/** `[rank3]:` is the rank in the job; the one in `[PG ID 0 PG GUID 0(default_pg) Rank 3]` is that in its group. */
const globalRank = /\[rank(\d{1,6})\]:/;
const groupOf =
  /\[PG (?:ID (\d{1,9}) PG GUID (\d{1,9})(?:\(([\w.:-]{0,80})\))?|(?:GUID )?(\d{1,9})(?:\(([\w.:-]{0,80})\))?) Rank (\d{1,6})\]/;
const soleRank = /\[(?:Rank |RankMonitorServer:)(\d{1,6})\]/;

/** Longest part of a line before the words that are looked for. */
const headLength = 400;

/** Which process writes, and about which group. */
interface Writer {
  readonly rank?: number;
  readonly group?: string;
}

/** The group of all ranks counts them as the job does. Numbers without GUID are those of the process: the same number is another group elsewhere. */
function writerOf(head: string): Writer {
  const found = groupOf.exec(head);
  const [, , guid, guidName, number, numberName, member] = found ?? [];
  const [id, name] = [guid ?? number, guidName ?? numberName];
  const isDefault = id === '0' || name === 'default_pg';
  const rank = wholeOf(globalRank.exec(head)?.[1] ?? (isDefault ? member : undefined) ?? soleRank.exec(head)?.[1]);
  const isKnown = id !== undefined && (guid !== undefined || isDefault);
  return { ...(rank !== undefined && { rank }), ...(isKnown && { group: name ? `${id} (${name})` : id }) };
}

interface Rule {
  readonly from: string;
  readonly pattern: RegExp;
  read(groups: readonly (string | undefined)[], writer: Writer): WatchdogEvent;
}

const number = (name: 'from' | 'sequence' | 'lastEnqueued' | 'lastCompleted', digits: string | undefined) => {
  // Before its first collective a rank says -1.
  const value = digits === '-1' ? -1 : wholeOf(digits);
  return value === undefined ? {} : { [name]: value };
};

const rules: readonly Rule[] = [
  {
    from: 'Watchdog caught collective operation timeout: WorkNCCL(',
    pattern: /^Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(\d{1,15}), OpType=(\w{1,40})/,
    read: ([sequence, operation], writer) => ({
      kind: 'watchdog',
      what: 'timeout',
      ...writer,
      ...number('sequence', sequence),
      ...(operation !== undefined && { operation }),
    }),
  },
  {
    from: 'failure detected by watchdog at work sequence id: ',
    pattern:
      /^failure detected by watchdog at work sequence id: (\d{1,15}) PG status: last enqueued work: (-?\d{1,15}), last completed work: (-?\d{1,15})/,
    read: ([sequence, enqueued, completed], writer) => position(writer, enqueued, completed, sequence),
  },
  {
    from: 'Timeout at NCCL work: ',
    pattern:
      /^Timeout at NCCL work: (\d{1,15}), last enqueued NCCL work: (-?\d{1,15}), last completed NCCL work: (-?\d{1,15})/,
    read: ([sequence, enqueued, completed], writer) => position(writer, enqueued, completed, sequence),
  },
  {
    from: '(either an error or timeout) detected by watchdog at work: ',
    pattern:
      /^\(either an error or timeout\) detected by watchdog at work: (\d{1,15}), last enqueued NCCL work: (-?\d{1,15}), last completed NCCL work: (-?\d{1,15})/,
    read: ([sequence, enqueued, completed], writer) => position(writer, enqueued, completed, sequence),
  },
  {
    from: 'Received a dump signal due to a collective timeout from ',
    pattern:
      /^Received a dump signal due to a collective timeout from (?: ?rank (\d{1,6})|this local rank) and we will try our best to dump the debug info\. Last enqueued \w{1,16} work: (-?\d{1,15}), last completed \w{1,16} work: (-?\d{1,15})/,
    read: ([from, enqueued, completed], writer) => ({
      ...position(writer, enqueued, completed, undefined),
      what: 'dump',
      ...number('from', from),
    }),
  },
  {
    from: "ProcessGroupNCCL's watchdog got stuck for ",
    pattern: /^ProcessGroupNCCL's watchdog got stuck for \d{1,9} ?seconds/,
    read: (_, writer) => ({ kind: 'watchdog', what: 'stuck', ...writer }),
  },
  {
    from: 'Did not get subsequent heartbeat. ',
    pattern: /^Did not get subsequent heartbeat\. Waited \d/,
    read: (_, writer) => ({ kind: 'watchdog', what: 'heartbeat', ...writer }),
  },
  {
    from: "Section '",
    pattern: /^Section '[^']{1,80}' has been open for \d{1,9}(?:\.\d{1,4})? seconds/,
    read: (_, writer) => ({ kind: 'watchdog', what: 'section', ...writer }),
  },
];

const position = (
  writer: Writer,
  enqueued: string | undefined,
  completed: string | undefined,
  sequence: string | undefined,
): WatchdogEvent => ({
  kind: 'watchdog',
  what: 'position',
  ...writer,
  ...number('sequence', sequence),
  ...number('lastEnqueued', enqueued),
  ...number('lastCompleted', completed),
});

/** What a line of a watchdog says; undefined for any other line. */
export function watchdogEvent(line: string): WatchdogEvent | undefined {
  for (const { from, pattern, read } of rules) {
    const at = line.indexOf(from);
    const match = at === -1 ? null : pattern.exec(line.slice(at));
    if (match) return read(match.slice(1), writerOf(line.slice(Math.max(0, at - headLength), at)));
  }
  return undefined;
}
