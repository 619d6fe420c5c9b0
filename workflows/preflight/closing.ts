/** The end of a run: what is kept of it, and what the job and people are notified of. Pure. */

import type { Announcement } from '../../contract/wire/activities.ts';
import { eventReasons } from '../../contract/ids.ts';
import { type CollectedReport, type PreflightDecision } from '../../contract/preflight/preflight.ts';
import type { PreflightNote, PreflightRun } from '../../contract/preflight/runs.ts';
import {
  type Collection,
  isOlder,
  type Judged,
  newRun,
  type OpenRun,
  type PreflightData,
  type Report,
} from './state.ts';

/** Most nodes that are listed as not notified. */
const mostListed = 50;

/** Closes the open run. Reports of the set that is testing now move to the next run. */
export function closeRun(
  data: PreflightData,
  { open, evidence, first }: Judged,
): Collection & { readonly last: PreflightRun } {
  const by = open.superseded?.by;
  const isNext = ({ pod }: CollectedReport) => by !== undefined && !isOlder(pod, by);
  const done = open.reports.filter((one) => !isNext(one));
  const last: PreflightRun = {
    run: open.run,
    startedAt: iso(open.startedAt),
    endedAt: iso(first.at),
    outcome: evidence === 'superseded' || evidence === 'expired' ? evidence : 'judged',
    received: open.reports.length,
    expected: open.size,
    because: `${becauseOf(open, first)}${notNotified(open)}`,
    ...(open.size > 0 ? { verdict: verdictOf(first) } : {}),
    ...(open.unnotified.length > 0 ? { unnotified: open.unnotified.map(({ node }) => node).slice(0, mostListed) } : {}),
  };
  return {
    ...data,
    last,
    counted: done.map(({ report: { rank }, pod: { uid, createdAt }, writtenAt }) => ({
      rank,
      uid,
      createdAt,
      writtenAt,
    })),
    ...goOn(data.run + 1, open, open.reports.filter(isNext), first.at),
  };
}

/** Reports that pods of the next set have already sent open the next run, and nodes that were notified stay so. */
function goOn(
  run: number,
  { size, notified, unnotified }: OpenRun,
  reports: readonly CollectedReport[],
  at: number,
): Pick<Collection, 'open'> & { run?: number } {
  const [first] = reports;
  return first
    ? { run, open: { ...newRun(run, size, first.pod, at), reports, notified, unnotified } }
    : { open: undefined };
}

/** `follows`: what happens to the job, as the end of a sentence. */
export function reportOf(run: PreflightRun, { pod }: OpenRun, follows: string): Report {
  const { received, expected } = run;
  return {
    pod,
    received,
    expected,
    announcement: { ...eventKind(run), message: `${run.because}${follows}`, key: `${run.run}` },
    note: noteOf(run),
  };
}

/** Of nodes that are broken, while the rest of the reports is awaited. */
export function partialReportOf(open: OpenRun, { failed, because }: PreflightDecision): Report {
  const { run, size: expected, pod, notified } = open;
  const message = `${because}${notNotified(open)}`;
  const announcement = {
    type: 'Warning',
    reason: eventReasons.preflightFailed,
    message,
    key: `${run}/${notified.length}`,
  } as const;
  return { pod, received: open.reports.length, expected, ...(failed.length > 0 && { announcement }) };
}

export const abnormalNodes = ({ failed, slow }: Pick<PreflightDecision, 'failed' | 'slow'>): string[] =>
  [...failed, ...slow].map(({ node }) => node);

export function outcomeOf({ outcome, verdict }: PreflightRun): string {
  if (verdict && abnormalNodes(verdict).length > 0) return 'abnormal';
  if (outcome !== 'judged') return 'incomplete';
  return (verdict?.counts.undetermined ?? 0) > 0 ? 'undetermined' : 'healthy';
}

/** The first few of them. */
export const named = (nodes: readonly string[]): string =>
  `${nodes.slice(0, 5).join(', ')}${nodes.length > 5 ? ` and ${nodes.length - 5} more` : ''}`;

/** What people must handle themselves, as the end of a sentence. */
function notNotified({ unnotified }: OpenRun): string {
  const [first] = unnotified;
  return first === undefined
    ? ''
    : `; ${named(unnotified.map(({ node }) => node))} could not be notified, so no quarantine follows: ${first.because}`;
}

function becauseOf(
  { reports: { length: received }, size, superseded }: OpenRun,
  { because, missing }: PreflightDecision,
): string {
  if (size > 0 && received >= size) return because;
  const more = size - received - missing.length;
  const came =
    size === 0
      ? 'pods tested, and no report came'
      : `${received} of ${size} reports came; ranks ${missing.join(', ')}${more > 0 ? ` and ${more} more` : ''} are missing; ${because}`;
  return superseded === undefined ? came : `${superseded.because}; ${came}`;
}

function eventKind(run: PreflightRun): Pick<Announcement, 'type' | 'reason'> {
  const outcome = outcomeOf(run);
  if (run.outcome === 'expired') return { type: 'Warning', reason: eventReasons.preflightIncomplete };
  if (run.outcome === 'superseded' && outcome !== 'abnormal')
    return { type: 'Normal', reason: eventReasons.preflightIncomplete };
  if (outcome === 'abnormal') return { type: 'Warning', reason: eventReasons.preflightFailed };
  return {
    type: 'Normal',
    reason: outcome === 'healthy' ? eventReasons.preflightPassed : eventReasons.preflightUndetermined,
  };
}

const noteOf = ({ run, endedAt, outcome, received, expected, verdict }: PreflightRun): PreflightNote => ({
  run,
  at: endedAt,
  outcome,
  received,
  expected,
  slow: (verdict?.slow ?? []).map(({ node }) => node),
  failed: (verdict?.failed ?? []).map(({ node }) => node),
  undetermined: verdict?.counts.undetermined ?? 0,
  confidence: verdict?.confidence ?? 0,
});

const verdictOf = ({
  rule,
  failed,
  slow,
  undetermined,
  counts,
  confidence,
  missing,
}: PreflightDecision): NonNullable<PreflightRun['verdict']> => ({
  rule,
  failed,
  slow,
  undetermined,
  counts,
  confidence,
  missing,
});

const iso = (ms: number): string => new Date(ms).toISOString();
