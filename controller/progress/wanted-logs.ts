/** Which logs of a node its agent follows: those of the ranks that print progress, and of all ranks of a job that makes no step. Pure. */

import type { JobView } from '../../contract/job/jobs.ts';
import {
  type LogChoice,
  type LogDefaults,
  logLimits,
  type LogPatterns,
  type WantedLog,
} from '../../contract/progress/logs.ts';
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

/** `defaults`: where a job chooses no format. */
export const formatOf = ({ overrides }: LoggingJob['view'], { format }: Pick<LogDefaults, 'format'>): LogChoice =>
  overrides?.logFormat ?? (format === 'off' && ownPatternsOf(overrides) ? 'auto' : format);

const ownPatternsOf = (overrides: JobView['overrides']): LogPatterns | undefined =>
  patternsIn({ step: overrides?.logStep, checkpoint: overrides?.logCheckpoint });

function patternsIn({
  step,
  checkpoint,
}: { [Name in keyof LogPatterns]: string | undefined }): LogPatterns | undefined {
  if (step === undefined && checkpoint === undefined) return undefined;
  return { ...(step !== undefined && { step }), ...(checkpoint !== undefined && { checkpoint }) };
}

/** Patterns of the settings are for logs of which nothing else is known. */
const patternsFor = ({ overrides }: LoggingJob['view'], defaults: LogDefaults): LogPatterns | undefined =>
  ownPatternsOf(overrides) ?? (overrides?.logFormat === undefined ? patternsIn(defaults) : undefined);

/** Trainers print steps on the first rank or on the last one; steps and checkpoints are taken from these only. */
export const printsProgress = ({ rank, view }: LoggingJob): boolean => rank === 0 || rank === view.podsExpected - 1;

/** `jobOf`: undefined for a job that does not exist. */
export function wantedLogs(
  pods: readonly TrainingPod[],
  jobOf: (pod: TrainingPod) => LoggingJob | undefined,
  defaults: LogDefaults,
): readonly WantedLog[] {
  const found = pods.flatMap((pod) => {
    const job = jobOf(pod);
    if (!job?.view.optedIn || job.view.finished || job.writesFiles || pod.startedAt === undefined) return [];
    const format = formatOf(job.view, defaults);
    const prints = printsProgress(job);
    return format === 'off' || !(prints || job.isLate)
      ? []
      : [{ prints, log: wanted(pod, format, patternsFor(job.view, defaults)) }];
  });
  return found
    .toSorted((a, b) => Number(b.prints) - Number(a.prints))
    .slice(0, logLimits.perNode)
    .map(({ log }) => log);
}

function wanted(pod: TrainingPod, format: WantedLog['format'], patterns: LogPatterns | undefined): WantedLog {
  const { name, uid, container, job } = pod;
  return { namespace: job.namespace, pod: name, uid, container, format, ...(patterns && { patterns }) };
}
