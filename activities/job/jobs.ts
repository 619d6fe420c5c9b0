/** Observes jobs, resumes them, and notifies their workflows. */

import { cancellationSignal } from '@temporalio/activity';
import type { Activities } from '../../contract/wire/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import { nodeNotReady } from '../../contract/faults/faults.ts';
import { type JobRef } from '../../contract/job/jobs.ts';
import { jobStart } from '../../contract/wire/starts.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { jobKey, jobsOfPods } from '../../kube/jobs/kinds/index.ts';
import { readJob, removeRecoveryLabel, resumeJob } from '../../kube/jobs/jobs.ts';
import { topJob } from '../../kube/jobs/child-jobs.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { podsOnNode } from '../../kube/pods/pods.ts';
import type { Dependencies } from '../dependencies.ts';
import { signalFaults } from './fault-signal.ts';
import { concerning, notifyWaitingJobs } from './waiting-jobs.ts';

type Jobs = Pick<Activities, 'observeJob' | 'resumeJob' | 'removeRecoveryLabel' | 'notifyJobs'>;

export function jobActivities(dependencies: Dependencies): Jobs {
  const { kube, settings, temporal } = dependencies;
  const { taint } = settings.quarantine;

  return {
    observeJob: async ({ job }) => (await readJob(kube, job, taint)) ?? null,
    resumeJob: async ({ job, incident }) => ({
      resumed: await resumeJob(kube, job, incident, cancellationSignal()).catch(tryAgain),
    }),
    removeRecoveryLabel: ({ job }) => removeRecoveryLabel(kube, job),
    notifyJobs: async ({ node, faults }) => {
      // On a dead node, terminating pods stay: their job cannot go on without them.
      const terminating = faults.some((fault) => fault.code === nodeNotReady);
      const jobs = await topJobs(kube, jobsOfPods(await podsOnNode(kube, node, { terminating })));
      const notified = await inParallel(jobs, async ({ job, childUids }) => {
        const concerned = concerning(faults, [job.uid, ...childUids]);
        if (concerned.length === 0 || !(await isWatched(dependencies, job))) return [];
        const start = jobStart(job, settings.temporal.taskQueue);
        await signalFaults(temporal(), start, concerned);
        return [start.workflowId];
      });
      return [...notified.flat(), ...(await notifyWaitingJobs(dependencies, { node, faults }, notified.flat()))];
    },
  };
}

/** The opted-in jobs with pods on the node, those that are terminating included. */
export async function watchedJobsOn(dependencies: Dependencies, node: string): Promise<readonly JobRef[]> {
  const { kube } = dependencies;
  const jobs = await topJobs(kube, jobsOfPods(await podsOnNode(kube, node, { terminating: true })));
  return (await inParallel(jobs, async ({ job }) => ((await isWatched(dependencies, job)) ? [job] : []))).flat();
}

async function isWatched({ kube, settings }: Dependencies, job: JobRef): Promise<boolean> {
  const view = await readJob(kube, job, settings.quarantine.taint);
  return view !== undefined && view.optedIn && !view.finished;
}

/** A job that kcover has suspended is never given up: a request that is refused today, for example by an admission webhook, may pass tomorrow. */
function tryAgain(error: unknown): never {
  throw error instanceof KcoverError && error.code === 'kube.invalid'
    ? new KcoverError('kube.forbidden', error.because)
    : error;
}

/** The jobs that can be stopped, each once, with the UIDs of their children. */
async function topJobs(
  kube: Kube,
  jobs: readonly JobRef[],
): Promise<{ readonly job: JobRef; readonly childUids: readonly string[] }[]> {
  const found = await inParallel(jobs, async (child) => ({ job: await topJob(kube, child), childUid: child.uid }));
  const byTop = Map.groupBy(found, ({ job }) => jobKey(job));
  return [...byTop.values()].flatMap((some) =>
    some[0] ? [{ job: some[0].job, childUids: some.map(({ childUid }) => childUid) }] : [],
  );
}
