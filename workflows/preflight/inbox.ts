/** Which run each report belongs to. Pure. */

import type { CollectedReport, TestingPod } from '../../contract/preflight/preflight.ts';
import {
  type Collection,
  type CountedReport,
  isOlder,
  newRun,
  type OpenRun,
  type PreflightData,
  withRefused,
} from './state.ts';

/** What changes while the inbox is sorted; thousands of reports in one go are not copied for each of them. */
interface Draft extends Pick<PreflightData, 'last'> {
  run: number;
  testing: TestingPod | undefined;
  refused: PreflightData['refused'];
  readonly counted: ReadonlyMap<number, CountedReport>;
  open: OpenDraft | undefined;
}

interface OpenDraft {
  readonly before: OpenRun;
  size: number;
  lastAt: number;
  readonly reports: Map<number, CollectedReport>;
  readonly looked: Set<number>;
}

type Superseded = NonNullable<OpenRun['superseded']>;

/** Sorts what waits into the open run, until that is complete or superseded; the rest belongs to the next run. */
export function sortInbox(before: Collection): Collection {
  if (before.inbox.length === 0) return before;
  const { run, last, testing, refused } = before;
  const draft: Draft = {
    run,
    last,
    testing,
    refused,
    counted: new Map(before.counted.map((one) => [one.rank, one])),
    open: before.open && draftOf(before.open),
  };
  let superseded = before.open?.superseded;
  let sorted = 0;
  for (const next of before.inbox) {
    if (superseded || (draft.open && draft.open.size > 0 && draft.open.reports.size >= draft.open.size)) break;
    superseded = 'testing' in next ? begin(draft, next.testing, next.at) : place(draft, next.report, next.at);
    // The next run begins with what ended this one.
    if (!superseded) sorted += 1;
  }
  return {
    ...before,
    run: draft.run,
    testing: draft.testing,
    refused: draft.refused,
    inbox: before.inbox.slice(sorted),
    open: draft.open && { ...openOf(draft.open), superseded },
  };
}

function draftOf(before: OpenRun): OpenDraft {
  const { size, lastAt, looked } = before;
  const reports: OpenDraft['reports'] = new Map();
  for (const one of before.reports) reports.set(one.report.rank, one);
  return { before, size, lastAt, reports, looked: new Set(looked) };
}

const openOf = ({ before, size, lastAt, reports, looked }: OpenDraft): OpenRun => ({
  ...before,
  size,
  lastAt,
  reports: [...reports.values()],
  looked: [...looked],
});

/** A set of pods is testing. Returns why that ends the open run, if it does: the run holds reports of an earlier set. */
function begin(draft: Draft, pod: TestingPod, at: number): Superseded | undefined {
  if (pod.uid === draft.testing?.uid || draft.counted.values().some(({ uid }) => uid === pod.uid)) return undefined;
  if (draft.open?.reports.values().some((one) => isOlder(one.pod, pod)))
    return { because: `${pod.name} and its set of pods are newer`, by: pod };
  draft.testing = pod;
  draft.open ??= openDraft(draft, 0, pod, at);
  return undefined;
}

/** Returns why a report ends the open run, if it does: a newer pod stands at a rank that has reported. */
function place(draft: Draft, arrived: CollectedReport, at: number): Superseded | undefined {
  const { report, pod } = arrived;
  const known = draft.open?.reports.get(report.rank);
  if (isOld(draft, arrived) || (known && isOlder(pod, known.pod))) return undefined;
  if (known && known.pod.uid !== pod.uid) return { because: `${pod.name} is a newer pod of rank ${report.rank}` };
  if (known && Date.parse(arrived.writtenAt) <= Date.parse(known.writtenAt)) return undefined;
  const open = (draft.open ??= openDraft(draft, report.size, pod, at));
  if (open.size === 0) open.size = report.size;
  if (open.size !== report.size) {
    const because = `it says that ${report.size} ranks are tested, and others say ${open.size}`;
    draft.refused = withRefused(draft.refused, [
      { rank: report.rank, node: report.node, what: 'workload_size', because, at: new Date(at).toISOString() },
    ]);
    return undefined;
  }
  open.reports.set(report.rank, arrived);
  open.looked.delete(report.rank);
  // Only new ranks count as activity: a rank that crashes for ever must not keep a run open.
  if (!known) open.lastAt = at;
  return undefined;
}

/** Of an earlier set, or of a pod whose run is over. A new report of a pod that was not judged, or is broken now, opens the next run. */
function isOld({ testing, counted, last }: Draft, { report, pod, writtenAt }: CollectedReport): boolean {
  if (testing && isOlder(pod, testing)) return true;
  const before = counted.get(report.rank);
  if (before === undefined) return false;
  if (before.uid !== pod.uid) return isOlder(pod, before);
  const isNewer =
    Date.parse(writtenAt) > Date.parse(before.writtenAt) &&
    (last?.outcome !== 'judged' || (report.failed?.length ?? 0) > 0);
  return !isNewer;
}

function openDraft(draft: Draft, size: number, pod: TestingPod, at: number): OpenDraft {
  draft.run += 1;
  return draftOf(newRun(draft.run, size, pod, at));
}
