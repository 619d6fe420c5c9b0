/** Reads of the job: the first of a run, and those after a change. */

import { workflowInfo } from '@temporalio/workflow';
import { eventReasons } from '../../contract/ids.ts';
import { jobTitle, type JobView } from '../../contract/job/jobs.ts';
import { announce, attempt, decideOptIn, perform, tolerate } from '../proxies.ts';
import { lookAtRecovery } from './child.ts';
import type { JobContext } from './context.ts';
import type { FoundRecoveries } from './incident.ts';
import { endOf, overridesIn } from './look.ts';
import { forward, lookAtOpen } from './recover.ts';

/** First of all: does the job still exist, is it still opted in, and does the open recovery still run? */
export async function begin(context: JobContext): Promise<void> {
  const { machine, dispatch } = context;
  const view = await read(context);
  if (view && isFirstRun(context) && !machine.state.over) await findRecoveries(context, view);
  const { open } = machine.state;
  dispatch({ kind: 'begun', stuck: open?.started ? await lookAtOpen(context, open.incident) : undefined });
}

const isFirstRun = ({ machine: { state } }: JobContext): boolean => state.phase === 'starting' && state.isFirstRun;

/** Reads the job, asks an open recovery to look too, and resumes what a lost recovery left suspended. */
export async function read(context: JobContext): Promise<JobView | undefined> {
  const { job, machine, dispatch } = context;
  dispatch({ kind: 'readBegan' });
  const view = await tolerate(perform('observeJob', `read ${jobTitle(job)}`, { job }));
  // It cannot be read at all: what was known stays, until the next change is seen.
  if (view === undefined) return undefined;
  dispatch({ kind: 'jobRead', over: endOf(view, job), overrides: overridesIn(view) });
  await forward(context, true);
  const suspendedBy = incidentThatSuspended(view);
  if (suspendedBy !== undefined && suspendedBy !== machine.state.open?.incident) await lookAtRecovery(job, suspendedBy);
  return view ?? undefined;
}

/** The first run of a job: reads what Temporal still knows of it, and whether it could be recovered at all. */
async function findRecoveries({ job, dispatch }: JobContext, view: JobView): Promise<void> {
  const [found, optIn] = await Promise.all([
    attempt(perform('findRecoveries', 'recoveries in the last hour', { job })),
    decideOptIn(view),
  ]);
  dispatch({
    kind: 'recoveriesFound',
    optedInAt: view.optedInAt,
    found: 'done' in found ? found.done : notFound({ job, view, why: found.failed }),
  });
  if (optIn.kind !== 'warn') return;
  void announce({
    about: { kind: 'job', job },
    type: 'Warning',
    reason: eventReasons.notRecoverable,
    message: `${optIn.because}; ${optIn.remedy}`,
    key: job.uid,
  });
}

/** Earlier recoveries could not be listed: the budget begins anew, and the only open one known is the one that suspended the job. */
function notFound({
  job,
  view,
  why,
}: Pick<JobContext, 'job'> & { readonly view: JobView; readonly why: string }): FoundRecoveries {
  const message = `Temporal could not list the recent recoveries of this job (${why}): its budget begins anew`;
  void announce({
    about: { kind: 'job', job },
    type: 'Warning',
    reason: eventReasons.budgetUnknown,
    message,
    key: `${job.uid}/${workflowInfo().runId}`,
  });
  const open = incidentThatSuspended(view);
  return { usage: [], ...(open !== undefined && { open }) };
}

const incidentThatSuspended = (view: JobView | null): string | undefined =>
  view?.suspension?.by === 'kcover' ? view.suspension.incident : undefined;
