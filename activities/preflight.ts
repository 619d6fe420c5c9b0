/** Notifies nodes of what a preflight found, observes its workload, and writes the verdict to the job. */

import type { Activities } from '../contract/wire/activities.ts';
import type { Fault } from '../contract/faults/faults.ts';
import { annotations } from '../contract/ids.ts';
import type { Workload } from '../contract/preflight/preflight.ts';
import { nodeStart } from '../contract/wire/starts.ts';
import { annotateJob, readJob } from '../kube/jobs/jobs.ts';
import { topJob } from '../kube/jobs/child-jobs.ts';
import { hasPreflightPods } from '../kube/pods/preflight-pods.ts';
import type { Dependencies } from './dependencies.ts';
import { signalFaults } from './job/fault-signal.ts';

type PreflightActivities = Pick<Activities, 'notifyNodes' | 'observeWorkload' | 'noteVerdict'>;

export function preflightActivities({
  kube,
  settings,
  temporal,
  log,
}: Pick<Dependencies, 'kube' | 'settings' | 'temporal' | 'log'>): PreflightActivities {
  const notify = async (fault: Fault) =>
    signalFaults(temporal(), nodeStart(fault.node ?? '', settings.temporal.taskQueue), [fault]);

  async function observe(workload: Workload): ReturnType<PreflightActivities['observeWorkload']> {
    if (workload.job === undefined) {
      // Without a job object of a known kind, only the pods can be observed.
      const there = await hasPreflightPods(kube, workload);
      return there ? { kind: 'there', optedIn: false } : { kind: 'gone', because: 'none of its pods is left' };
    }
    const job = await readJob(kube, await topJob(kube, workload.job), settings.quarantine.taint);
    if (job === undefined) return { kind: 'gone', because: 'the job object is gone' };
    return job.finished
      ? { kind: 'finished', because: `the job ${job.finished.as}: ${job.finished.because}` }
      : { kind: 'there', optedIn: job.optedIn };
  }

  return {
    // All at once, even if one is slow: a job on several of these nodes should learn of all of them before it is stopped for one.
    notifyNodes: async ({ faults }) => {
      const refused = await Promise.all(
        faults.map((fault) =>
          notify(fault).then(
            () => [],
            (error: unknown) => {
              log.warn({ err: error, node: fault.node, fault: fault.id }, 'a node could not be notified');
              return [{ id: fault.id, because: sentenceOf(error) }];
            },
          ),
        ),
      );
      const [first, ...others] = refused.flat();
      return first
        ? { unnotified: [first, ...others].map(({ id }) => id), because: first.because }
        : { unnotified: [] };
    },
    observeWorkload: ({ workload }) => observe(workload),
    // In observe mode, write nothing.
    noteVerdict: async ({ job, note }) =>
      settings.mode === 'observe'
        ? undefined
        : annotateJob(kube, job, { [annotations.preflight]: JSON.stringify(note) }),
  };
}

/** The client puts Temporal's own message in the cause. */
function sentenceOf(error: unknown): string {
  const said = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return (said instanceof Error ? said.message : String(said)).slice(0, 200);
}
