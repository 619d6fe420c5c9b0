/** What is implausible in the progress that a trainer reports: counted, and logged once for each pod and kind. */

import type { Logger } from 'pino';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import type { ControllerMetrics } from '../metrics.ts';

const oddities: Readonly<Record<string, string>> = {
  clock: 'its time is impossible; the time of the file is used instead',
  'checkpoint-ahead': 'its checkpoint is of a later step; it counts as one of this step',
  'step-back': 'its step is below the one before; the newer file counts',
};

const mostRemembered = 10_000;

export function oddityReporter(
  counter: ControllerMetrics['progressOdd'],
  log: Pick<Logger, 'warn'>,
): (pod: TrainingPod, what: string) => void {
  const reported = new Set<string>();
  return ({ uid, job }, what) => {
    counter.inc({ what });
    const key = `${uid} ${what}`;
    if (reported.has(key)) return;
    if (reported.size >= mostRemembered) reported.clear();
    reported.add(key);
    log.warn({ job, what }, `the progress of ${jobTitle(job)} is implausible: ${oddities[what] ?? what}`);
  };
}
