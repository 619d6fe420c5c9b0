/** The spool's memory: reports and gaps that the controller has not accepted. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { Gap, Report } from '../../contract/wire/reports.ts';
import type { JournalEntry } from './journal.ts';

interface StoredReport {
  readonly report: Report;
  readonly bytes: number;
}
/** Gaps are reported in the order of their numbers. */
export interface KeptGap {
  readonly gap: Gap;
  readonly number: number;
}

/** More gaps than this are merged; a batch may have 100. */
const gapsMost = 50;

const sizeOf = (report: Report): number => Buffer.byteLength(JSON.stringify(report));
const add = (one: Gap['lost'], other: Gap['lost']): Gap['lost'] =>
  one === 'unknown' || other === 'unknown' ? 'unknown' : one + other;

export interface PendingReports {
  /** Stream of the file that it was restored from. */
  readonly stream: string | undefined;
  readonly nextSeq: number;
  readonly nextGap: number;
  readonly count: number;
  readonly bytes: number;
  readonly dropped: number;
  readonly gapsNoted: ReadonlyMap<Gap['what'], number>;
  /** Numbers a fault. It is not sent before `show`, so that no number is used that is not on disk. */
  take(fault: Fault): Report;
  show(seq: number): void;
  addGap(gap: Gap): KeptGap;
  first(limit: { readonly reports: number; readonly bytes: number }): {
    readonly reports: readonly Report[];
    readonly gaps: readonly KeptGap[];
  };
  forget(through: { readonly seq: number; readonly gap: number }): void;
  dropOldest(toBytes: number): { readonly count: number; readonly seq: number };
  entries(): readonly JournalEntry[];
}

interface SpoolStart {
  readonly stream: string | undefined;
  readonly nextSeq: number;
  readonly nextGap: number;
  readonly kept: StoredReport[];
  readonly gaps: KeptGap[];
}

function waitingFrom(start: SpoolStart): PendingReports {
  let { nextSeq, nextGap, kept, gaps } = start;
  let bytes = kept.reduce((sum, one) => sum + one.bytes, 0);
  let shownSeq = nextSeq - 1;
  let shownGap = 0;
  let dropped = 0;
  const gapsNoted = new Map<Gap['what'], number>();

  return {
    stream: start.stream,
    get nextSeq() {
      return nextSeq;
    },
    get nextGap() {
      return nextGap;
    },
    get count() {
      return kept.length;
    },
    get bytes() {
      return bytes;
    },
    get dropped() {
      return dropped;
    },
    take(fault) {
      const report = { seq: nextSeq++, fault };
      kept.push({ report, bytes: sizeOf(report) });
      bytes += sizeOf(report);
      return report;
    },
    show(seq) {
      shownSeq = seq;
    },
    gapsNoted,
    addGap(gap) {
      gapsNoted.set(gap.what, (gapsNoted.get(gap.what) ?? 0) + 1);
      // A gap in flight must not change; if there are too many, counting twice is accepted.
      const same = gaps.findLast(
        (one) => one.gap.what === gap.what && (one.number > shownGap || gaps.length >= gapsMost),
      );
      const entry = same
        ? { gap: { ...same.gap, lost: add(same.gap.lost, gap.lost) }, number: same.number }
        : { gap, number: nextGap++ };
      gaps = [...gaps.filter((one) => one.number !== entry.number), entry].toSorted(
        (one, other) => one.number - other.number,
      );
      return entry;
    },
    first(limit) {
      let left = limit.bytes;
      const reports: Report[] = [];
      for (const one of kept) {
        left -= one.bytes + 1;
        if (one.report.seq > shownSeq || reports.length === limit.reports || (left < 0 && reports.length > 0)) break;
        reports.push(one.report);
      }
      shownGap = gaps.reduce((most, one) => Math.max(most, one.number), shownGap);
      return { reports, gaps };
    },
    forget(through) {
      kept = kept.filter((one) => one.report.seq > through.seq);
      bytes = kept.reduce((sum, one) => sum + one.bytes, 0);
      gaps = gaps.filter((one) => one.number > through.gap);
    },
    dropOldest(toBytes) {
      let count = 0;
      let seq = 0;
      for (const one of kept) {
        if (bytes <= toBytes) break;
        bytes -= one.bytes;
        seq = one.report.seq;
        count++;
      }
      kept = kept.slice(count);
      dropped += count;
      return { count, seq };
    },
    entries: () => [...kept.map(({ report }) => ({ report })), ...gaps],
  };
}

export const emptyWaiting = (): PendingReports =>
  waitingFrom({ stream: undefined, nextSeq: 1, nextGap: 1, kept: [], gaps: [] });

/** Restores the state from all entries of a journal. */
export function restore(entries: readonly JournalEntry[]): PendingReports {
  let stream: string | undefined;
  let nextSeq = 1;
  let nextGap = 1;
  const reports = new Map<number, StoredReport>();
  const gaps = new Map<number, KeptGap>();
  for (const entry of entries) {
    if ('stream' in entry) {
      stream = entry.stream;
      nextSeq = Math.max(nextSeq, entry.nextSeq);
      nextGap = Math.max(nextGap, entry.nextGap);
    } else if ('report' in entry) {
      reports.set(entry.report.seq, { report: entry.report, bytes: sizeOf(entry.report) });
      nextSeq = Math.max(nextSeq, entry.report.seq + 1);
    } else if ('gap' in entry) {
      gaps.set(entry.number, entry);
      nextGap = Math.max(nextGap, entry.number + 1);
    } else {
      for (const seq of reports.keys()) if (seq <= entry.forget.seq) reports.delete(seq);
      for (const number of gaps.keys()) if (number <= entry.forget.gap) gaps.delete(number);
    }
  }
  return waitingFrom({ stream, nextSeq, nextGap, kept: [...reports.values()], gaps: [...gaps.values()] });
}
