/** Tells nodes what a preflight found, looks after its workload, and leaves the verdict on the job. */

import type { Activities } from '../contract/activities.ts';
import type { Fault } from '../contract/faults.ts';
import { annotations } from '../contract/ids.ts';
import { type FaultsObserved, signals } from '../contract/messages.ts';
import type { Workload } from '../contract/preflight.ts';
import { searchAttributePairs } from '../contract/search-attributes.ts';
import { nodeStart } from '../contract/starts.ts';
import { annotateJob, readJob } from '../kube/jobs.ts';
import { topJob } from '../kube/made-jobs.ts';
import { inParallel } from '../kube/parallel.ts';
import { hasPreflightPods } from '../kube/preflight-pods.ts';
import type { Dependencies } from './dependencies.ts';

type Preflight = Pick<Activities, 'tellNodes' | 'observeWorkload' | 'noteVerdict'>;

export function preflightActivities({ kube, settings, temporal, log }: Dependencies): Preflight {
  async function tell(fault: Fault): Promise<void> {
    const { workflowType, attributes, ...start } = nodeStart(fault.node ?? '', settings.temporal.taskQueue);
    const signalled: FaultsObserved = { faults: [fault] };
    await temporal().workflow.signalWithStart(workflowType, {
      ...start,
      typedSearchAttributes: searchAttributePairs(attributes),
      signal: signals.faultsObserved,
      signalArgs: [signalled],
    });
  }

  async function observe(workload: Workload): ReturnType<Preflight['observeWorkload']> {
    if (workload.job === undefined) {
      // Of what has no job object that we know, the pods are all there is to see.
      const there = await hasPreflightPods(kube, workload);
      return there ? { kind: 'there', optedIn: false } : { kind: 'gone', because: 'none of its pods is left' };
    }
    const job = await readJob(kube, await topJob(kube, workload.job), settings.quarantine.taint);
    if (job === undefined) return { kind: 'gone', because: 'the job object is gone' };
    return job.finished ? { kind: 'finished', because: `the job ${job.finished.as}: ${job.finished.because}` } : { kind: 'there', optedIn: job.optedIn };
  }

  return {
    tellNodes: async ({ faults }) => {
      const untold = await inParallel(faults, (fault) =>
        tell(fault).then(
          () => [],
          (error: unknown) => {
            log.warn({ err: error, node: fault.node, fault: fault.id }, 'a node could not be told');
            return [fault.id];
          },
        ),
      );
      return { untold: untold.flat() };
    },
    observeWorkload: ({ workload }) => observe(workload),
    // Who only observes writes nothing.
    noteVerdict: async ({ job, note }) => (settings.mode === 'observe' ? undefined : annotateJob(kube, job, { [annotations.preflight]: JSON.stringify(note) })),
  };
}
