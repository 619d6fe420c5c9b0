/** What the state of a job's workflow looks like from outside: answer of the query, current details, search attributes. Pure. */

import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import { type JobStatus, usageByCategoryOf } from '../../contract/job/training-job.ts';
import { iso } from '../../contract/settings/duration.ts';
import type { Attributes, Details } from '../attributes.ts';
import { nodesOf } from '../faults.ts';
import type { JobState, ShownStatus } from './state.ts';

export function statusOf(
  job: JobRef,
  { status, usage, dropped, open, last, paused }: JobState,
  now: number,
): JobStatus {
  const lately = usage.filter((one) => one.startedAt > now - 3_600_000);
  return {
    job,
    ...status,
    recoveriesThisHour: lately.length,
    usageByCategory: usageByCategoryOf(lately),
    usage,
    dropped,
    ...(open ? { incident: open.incident } : {}),
    ...(last ? { last } : {}),
    ...(paused ? { paused } : {}),
  };
}

/** Nodes in a search attribute. */
const mostNodes = 20;

export function attributesOf(state: JobState): Attributes {
  const outcome = state.phase === 'ended' ? state.outcome.outcome : state.last?.outcome;
  // A fault of these nodes may explain why pods failed there: see `notifyJobs`.
  const nodes = state.status.phase === 'waiting' ? nodesOf(state.inbox).slice(0, mostNodes) : [];
  return {
    KcoverPhase: state.status.phase,
    KcoverNode: nodes,
    ...(outcome === undefined ? {} : { KcoverOutcome: outcome }),
  };
}

export const detailsOf = (job: JobRef, { status, open, last }: JobState): Details => ({
  title: `${jobTitle(job)}: ${status.phase}`,
  rows: [
    ['because', status.because],
    ['waiting for', status.waitingFor],
    ['until', status.until],
    ['incident', open?.incident],
    ['last incident', last && `${last.outcome}: ${last.because}`],
  ],
});

/** The state with the status of its phase, which began at `at` unless it is the same as before. */
export function shown(state: JobState, at: number): JobState {
  const current = currentOf(state);
  if (!current) return state;
  const { status } = state;
  const isSame = status.phase === current.phase && status.because === current.because;
  return { ...state, status: { ...current, since: isSame ? status.since : iso(at) } };
}

/** Undefined where the last status stays. */
function currentOf(state: JobState): Omit<ShownStatus, 'since'> | undefined {
  const { phase, inbox, last, paused } = state;
  switch (phase) {
    case 'starting':
    case 'deciding':
    case 'opening':
      return undefined;
    case 'watching':
      return { phase, because: last ? `last incident ${last.outcome}` : 'no fault', waitingFor: 'a fault' };
    case 'paused': {
      const waiting = inbox[0] ? `; waiting: ${inbox[0].message}` : '';
      return { phase, because: `paused by ${paused?.by}: ${paused?.reason}${waiting}`, waitingFor: 'kcover resume' };
    }
    case 'waiting':
      return { phase, because: state.because, waitingFor: 'the time of the next decision', until: iso(state.until) };
    case 'refused':
      return { phase, because: state.because, waitingFor: 'the budget, or kcover recover', until: iso(state.until) };
    case 'recovering': {
      const { incident, askedBy } = state.open;
      const because = askedBy ? `${askedBy.by} asked: ${askedBy.reason}` : (inbox[0]?.message ?? 'a fault');
      return { phase, because, waitingFor: `the outcome of ${incident}` };
    }
    case 'stuck': {
      const { incident } = state.open;
      return { phase, because: `${incident} makes no progress: ${state.because}`, waitingFor: howToEnd(incident) };
    }
    case 'ended':
      return { phase, because: state.outcome.because, waitingFor: 'nothing' };
  }
}

/** Terminated by hand, it is treated like one that closed without a report: the job is resumed, and its faults are evaluated again. */
export const howToEnd = (incident: string): string => `temporal workflow terminate --workflow-id ${incident}`;
