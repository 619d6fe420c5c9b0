/** Which logs of a node its agent follows: those of the ranks that print progress, and of all ranks of a job that makes no step. Pure. */

import type { JobView } from '../../contract/job/jobs.ts';
import { type LogChoice, logLimits, type LogPatterns, type WantedLog } from '../../contract/progress/logs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

/** What is known of a pod's job. */
export interface LoggingJob {
  readonly view: Pick<JobView, 'optedIn' | 'finished' | 'podsExpected' | 'overrides'>;
  /** The pod's rank in it. */
  readonly rank: number | undefined;
  /** Its trainer writes progress files, which count more. */
  readonly writesFiles: boolean;
  /** It makes no step, so that all of its logs are read for a reason. */
  readonly isLate: boolean;
}

/** `byDefault`: where a job chooses no format. */
export const formatOf = ({ overrides }: LoggingJob['view'], byDefault: LogChoice): LogChoice =>
  overrides?.logFormat ?? (byDefault === 'off' && patternsOf(overrides) ? 'auto' : byDefault);

function patternsOf(overrides: JobView['overrides']): LogPatterns | undefined {
  const { logStep: step, logCheckpoint: checkpoint } = overrides ?? {};
  if (step === undefined && checkpoint === undefined) return undefined;
  return { ...(step !== undefined && { step }), ...(checkpoint !== undefined && { checkpoint }) };
}

/** Trainers print steps on the first rank or on the last one; steps and checkpoints are taken from these only. */
export const printsProgress = ({ rank, view }: LoggingJob): boolean => rank === 0 || rank === view.podsExpected - 1;

/** `jobOf`: undefined for a job that does not exist. */
export function wantedLogs(
  pods: readonly TrainingPod[],
  jobOf: (pod: TrainingPod) => LoggingJob | undefined,
  byDefault: LogChoice,
): readonly WantedLog[] {
  const found = pods.flatMap((pod) => {
    const job = jobOf(pod);
    if (!job?.view.optedIn || job.view.finished || job.writesFiles || pod.startedAt === undefined) return [];
    const format = formatOf(job.view, byDefault);
    const prints = printsProgress(job);
    return format === 'off' || !(prints || job.isLate) ? [] : [{ prints, log: wanted(pod, format, job) }];
  });
  return found
    .toSorted((a, b) => Number(b.prints) - Number(a.prints))
    .slice(0, logLimits.perNode)
    .map(({ log }) => log);
}

function wanted(pod: TrainingPod, format: WantedLog['format'], { view }: LoggingJob): WantedLog {
  const patterns = patternsOf(view.overrides);
  const { name, uid, container, job } = pod;
  return { namespace: job.namespace, pod: name, uid, container, format, ...(patterns && { patterns }) };
}
