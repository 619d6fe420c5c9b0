/** What each phase of a collection does outside, and which event that answers with. */

import { condition, sleep, workflowInfo } from '@temporalio/workflow';
import type { Workload } from '../../contract/preflight/preflight.ts';
import { isHistoryLong } from '../arrivals.ts';
import { announce, decideCollection, decidePreflight, perform, tolerate } from '../proxies.ts';
import type { InPhase } from '../state-machine.ts';
import { named } from './closing.ts';
import { isDue, type PreflightState } from './state.ts';
import type { Answer } from './transitions.ts';

type In<Phase extends PreflightState['phase']> = InPhase<PreflightState, Phase>;

/** Runs the effect of the phase. `current`: the state, which changes while the effect waits. */
export function runEffect(
  workload: Workload,
  state: Exclude<PreflightState, { phase: 'ended' }>,
  current: () => PreflightState,
): Promise<Answer> {
  switch (state.phase) {
    case 'waiting':
    case 'collecting':
      return awaitChanges(current);
    case 'observing':
      return observe(workload);
    case 'opening':
      return decideDeadlines(state);
    case 'judging':
      return judge(workload, state);
    case 'notifying':
      return notify(state);
    case 'closing':
      return observeJob(workload);
    case 'reporting':
      return report(workload, state);
  }
}

/** Something that arrived is to be sorted, a timer fired, or a new run of the workflow is suggested while no run of reports is open. */
async function awaitChanges(current: () => PreflightState): Promise<Answer> {
  await condition(() => isDue(current()) || (current().phase === 'waiting' && isHistoryLong()));
  return { kind: 'changesSeen' };
}

async function observe(workload: Workload): Promise<Answer> {
  return {
    kind: 'workloadObserved',
    seen: await tolerate(perform('observeWorkload', `is ${workload.name} still there?`, { workload })),
  };
}

async function decideDeadlines({ open: { size } }: In<'opening'>): Promise<Answer> {
  const { inactivityMs, deadlineMs } = await decideCollection({ size });
  return { kind: 'deadlinesDecided', inactivityMs, deadlineMs };
}

async function judge(
  workload: Workload,
  { open: { run, size, reports, notified }, evidence }: In<'judging'>,
): Promise<Answer> {
  const byRank = reports.toSorted((a, b) => a.report.rank - b.report.rank);
  const request = {
    workload,
    run,
    size,
    reports: byRank,
    evidence: evidence === 'superseded' ? ('expired' as const) : evidence,
    notified,
  };
  return { kind: 'verdictDecided', decision: await decidePreflight(request) };
}

async function notify({ pending: faults, because, tries }: In<'notifying'>): Promise<Answer> {
  if (tries > 1) await sleep(Math.min(60_000, 1000 * 2 ** tries));
  const nodes = named(faults.map(({ node = '' }) => node));
  const answer = await tolerate(perform('notifyNodes', `notify ${nodes}: ${because}`, { faults }));
  const refused = new Set(answer ? answer.unnotified : faults.map(({ id }) => id));
  const accepted = faults.flatMap(({ id }) => (refused.has(id) ? [] : [id]));
  return { kind: 'nodesNotified', accepted, because: answer?.because ?? 'Temporal did not accept it' };
}

/** For people only: the job's own workflow decides what happens to the job, and nothing waits for this sentence. */
async function observeJob(workload: Workload): Promise<Answer> {
  const asked = tolerate(perform('observeWorkload', `is ${workload.name} opted in?`, { workload }));
  return { kind: 'jobObserved', seen: await Promise.race([asked, sleep(5000).then(() => undefined)]) };
}

async function report(
  { namespace, job }: Workload,
  { report: { announcement, pod, note } }: In<'reporting'>,
): Promise<Answer> {
  if (job && note) await tolerate(perform('noteVerdict', `note the verdict on ${job.name}`, { job, note }));
  const about = job ? ({ kind: 'job', job } as const) : ({ kind: 'pod', namespace, ...pod } as const);
  if (announcement) await announce({ about, ...announcement, key: `${workflowInfo().workflowId}#${announcement.key}` });
  return { kind: 'reported' };
}
