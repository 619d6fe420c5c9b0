/** Takes what agents read in the logs of containers: it counts as a progress file of the pod would, and only while its job writes none. */

import type { LogDefaults, LogReport, LogReports } from '../../contract/progress/logs.ts';
import type { Progress, ProgressFile } from '../../contract/progress/progress.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { aheadMs, type CountedProgress, decideProgress, type ProgressFileDecision } from './decide-file.ts';
import type { LogTable } from './log-table.ts';
import { formatOf, type LoggingJob, printsProgress } from './wanted-logs.ts';

/** `not-asked`: the job is not opted in, wants its logs not to be read, or writes progress files. */
export type LogDecision = ProgressFileDecision['answer'] | 'not-asked';

export interface LogTakerOptions {
  readonly table: LogTable;
  /** Pods of present attempts on the node. */
  readonly writersOn: (node: string) => readonly TrainingPod[];
  readonly jobOf: (pod: TrainingPod) => LoggingJob | undefined;
  readonly logDefaults: LogDefaults;
  readonly count: (progress: CountedProgress, rank: number, from: 'log') => void;
  readonly onAnswer: (answer: LogDecision) => void;
}

/** Returns for each report what it counts as. */
export function logTaker(options: LogTakerOptions): (reports: Omit<LogReports, 'schema'>) => readonly LogDecision[] {
  const { table, writersOn, jobOf, logDefaults, count, onAnswer } = options;

  /** `pod`: the one that the report names, if it is of the present attempt and on the node of the sender. */
  function take(report: LogReport, pod: TrainingPod | undefined): LogDecision {
    const job = pod && jobOf(pod);
    if (!pod || job?.rank === undefined) return 'no-pod';
    if (!job.view.optedIn || job.writesFiles || formatOf(job.view, logDefaults) === 'off') return 'not-asked';
    if (Date.parse(report.at) > Date.now() + aheadMs) return 'stale';
    const { answer } = asProgress(pod, job.rank, { step: 0, at: report.at });
    if (answer !== 'counted') return answer;
    table.put({ pod, rank: job.rank, report: printsProgress(job) ? withoutFuture(report) : watchdogsOf(report) });
    const found = table.progressOf(pod.job.uid);
    const decision = found && asProgress(found.from.pod, found.from.rank, found.progress);
    if (decision?.answer === 'counted') count(decision, found?.from.rank ?? 0, 'log');
    return 'counted';
  }

  /** A log that is read, and may have nothing to say: of others nothing is known. */
  function see(pod: TrainingPod | undefined): void {
    const rank = pod && jobOf(pod)?.rank;
    if (pod && rank !== undefined) table.put({ pod, rank });
  }

  return ({ node, read, logs }) => {
    const writers = new Map(writersOn(node).map((pod) => [pod.uid, pod]));
    table.reads(node, read);
    for (const uid of read) see(writers.get(uid));
    return logs.map((report) => {
      const answer = take(report, writers.get(report.pod));
      onAnswer(answer);
      return answer;
    });
  };
}

/** Judged as a file of this pod that was written at the time of the progress. */
function asProgress(pod: TrainingPod, rank: number, progress: Progress): ProgressFileDecision {
  const { job, workload } = pod;
  const file: ProgressFile = { namespace: job.namespace, job: workload, rank, writtenAt: progress.at, progress };
  return decideProgress(file, [pod], Date.now());
}

/** A node speaks for the ranks on it: what it says of a rank that is not asked for its steps is no progress of the job. */
const watchdogsOf = ({ pod, at, watchdogs }: LogReport): LogReport => ({ pod, at, ...(watchdogs && { watchdogs }) });

/** No line is later than the last one: a step of the future would outlast all that follow. */
function withoutFuture(report: LogReport): LogReport {
  const { step, stepAt, checkpointStep, checkpointAt, phase, phaseAt, ...rest } = report;
  const happened = (at: string | undefined): boolean => at !== undefined && Date.parse(at) <= Date.parse(report.at);
  return {
    ...rest,
    ...(happened(stepAt) && step !== undefined && { step, stepAt }),
    ...(happened(checkpointAt) && checkpointStep !== undefined && { checkpointStep, checkpointAt }),
    ...(happened(phaseAt) && phase !== undefined && { phase, phaseAt }),
  };
}
