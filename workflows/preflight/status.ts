/** What the state of a collection looks like from outside: answer of the query, current details, search attributes. */

import type { Workload } from '../../contract/preflight/preflight.ts';
import type { PreflightOutcome, PreflightStatus } from '../../contract/preflight/runs.ts';
import { type Attributes, type Details, iso } from '../attributes.ts';
import { named, outcomeOf } from './closing.ts';
import { type OpenRun, openOf, type PreflightState, shownPhase } from './state.ts';
import { mostTries } from './transitions.ts';

/** Most ranks that are listed. */
const mostRanks = 50;

export function statusOf(workload: Workload, state: PreflightState): PreflightStatus {
  const { last, refused, dropped, since } = state;
  const until = untilOf(openOf(state));
  return {
    workload,
    phase: shownPhase(state),
    ...wordsOf(state),
    since: iso(since),
    ...progressOf(state),
    ...(until === undefined ? {} : { until }),
    ...(last ? { last } : {}),
    refused,
    dropped,
  };
}

export const outcomeIn = (
  workload: Workload,
  { over: { kind, because }, run }: Extract<PreflightState, { phase: 'ended' }>,
): PreflightOutcome => ({
  workload,
  outcome: kind,
  because,
  runs: run,
});

/** What was found stays until something else is found. */
export const attributesOf = (state: PreflightState): Attributes => ({
  KcoverPhase: shownPhase(state),
  ...(state.found && { KcoverNode: state.found.nodes, KcoverFault: state.found.fault }),
  ...(state.last && { KcoverOutcome: outcomeOf(state.last) }),
});

export function detailsOf(workload: Workload, state: PreflightState): Details {
  const { last, refused } = state;
  const { because, waitingFor } = wordsOf(state);
  return {
    title: `preflight of ${workload.name} in ${workload.namespace}: ${shownPhase(state)}`,
    rows: [
      ['because', because],
      ['waiting for', waitingFor],
      ['until', untilOf(openOf(state))],
      ['last run', last && `${last.run}: ${last.outcome}, ${last.because}`],
      ...(last?.verdict ? [...last.verdict.failed, ...last.verdict.slow] : []).map(
        ({ node, verdict, because: why }) => [`${verdict}: ${node}`, why] as const,
      ),
      ...refused.slice(-5).map(({ rank, what, because: why }) => [`refused: rank ${rank}`, `${what}: ${why}`] as const),
    ],
  };
}

type Words = Pick<PreflightStatus, 'because' | 'waitingFor'>;

function wordsOf(state: PreflightState): Words {
  switch (state.phase) {
    case 'waiting':
      return betweenRuns(state);
    case 'observing':
      return state.open ? collecting(state.open) : betweenRuns(state);
    case 'opening':
    case 'collecting':
      return collecting(state.open);
    case 'judging':
    case 'closing':
      return judging(state.open.reports.length, state.open.size);
    case 'notifying':
      return notifying(state);
    case 'reporting':
      return judging(state.report.received, state.report.expected);
    case 'ended':
      return { because: state.over.because, waitingFor: 'nothing' };
  }
}

const betweenRuns = ({ last }: PreflightState): Words =>
  last
    ? { because: last.because, waitingFor: 'the next run of its pods' }
    : { because: 'no report yet', waitingFor: 'reports of preflight containers' };

function collecting(open: OpenRun): Words {
  const { size, run, pod, reports } = open;
  if (size === 0)
    return {
      because: `run ${run}: ${pod.name} tests, and no report has come`,
      waitingFor: 'reports of preflight containers',
    };
  const missing = missingRanks(open);
  const ranks = missing.length > 10 ? `${missing.slice(0, 10).join(', ')}, ...` : missing.join(', ');
  return { because: `run ${run}: ${reports.length} of ${size} reports`, waitingFor: `ranks ${ranks}` };
}

const judging = (received: number, expected: number): Words => ({
  because: `${received} of ${expected} reports`,
  waitingFor: 'the verdict',
});

function notifying({ open, pending, tries, refusal }: Extract<PreflightState, { phase: 'notifying' }>): Words {
  if (tries === 1) return judging(open.reports.length, open.size);
  const nodes = named(pending.map(({ node = '' }) => node));
  return {
    because: `${nodes} cannot be notified yet: ${refusal}`,
    waitingFor: `Temporal, after ${tries - 1} of ${mostTries} tries`,
  };
}

/** Of the open run, or of the last. */
function progressOf(state: PreflightState): Pick<PreflightStatus, 'run' | 'received' | 'expected' | 'missing'> {
  const { run, last } = state;
  const open = openOf(state);
  if (open) return { run: open.run, received: open.reports.length, expected: open.size, missing: missingRanks(open) };
  return { run, received: last?.received ?? 0, expected: last?.expected ?? 0, missing: last?.verdict?.missing ?? [] };
}

function missingRanks({ size, reports }: OpenRun): readonly number[] {
  const came = new Set(reports.map(({ report }) => report.rank));
  return Array.from({ length: size }, (_, rank) => rank)
    .filter((rank) => !came.has(rank))
    .slice(0, mostRanks);
}

function untilOf(open: OpenRun | undefined): string | undefined {
  const { endsAt, inactivityMs } = open?.deadlines ?? {};
  return open === undefined || endsAt === undefined || inactivityMs === undefined
    ? undefined
    : iso(Math.min(endsAt, open.lastAt + inactivityMs));
}
