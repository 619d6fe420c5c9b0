/** Detects training that makes no progress although all pods run, and reports one fault for each hang. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import {
  type HangDecision,
  hangFault,
  type HangSettings,
  judgeHang,
  noStepFault,
  type Standstill,
} from '../../policy/progress/hang.ts';
import { isResting } from '../../policy/progress/pace.ts';
import { logDefects } from '../log-defects.ts';

export interface HangOptions {
  readonly settings: HangSettings;
  /** The job as its watch knows it. */
  readonly job: (
    job: JobRef,
  ) => Pick<JobView, 'optedIn' | 'finished' | 'suspension' | 'podsExpected' | 'overrides'> | undefined;
  /** The pod, by UID, as it is now. */
  readonly pod: (uid: string) => TrainingPod | undefined;
  /** How many pods of the job work. */
  readonly working: (job: JobRef) => number;
  /** Whether steps on this node would be reported. */
  readonly isLive: (node: string) => boolean;
  /** Whether the log of this pod is read now. */
  readonly isRead: (pod: TrainingPod) => boolean;
  /** What else says that the job makes no step since then (RFC 3339), and who may be the reason. */
  readonly witnesses: (job: JobRef, since: string) => Pick<Fault, 'witnesses' | 'suspects'>;
  /** `onLost`: the fault was not sent. */
  readonly raise: (job: JobRef, fault: Fault, onLost: () => void) => void;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'error'>;
}

export interface Hangs {
  /** Accepts the progress of the job's reporting rank. `from`: where it was read. */
  take(pod: TrainingPod, progress: JobProgress, from: 'file' | 'log'): void;
  /** Whether the job has made no step for so long that further witnesses are asked for. */
  isLate(uid: string): boolean;
  /** Judges all jobs; to be called every second. */
  judgeAll(): void;
  forget(uid: string): void;
}

interface ReportingPod extends Standstill {
  readonly pod: TrainingPod;
  readonly isLate?: boolean;
}

type Reported = Exclude<HangDecision['kind'], 'waits'>;

/** After a gap of this length between two checks, ms, this process itself was suspended, and reports may still wait to be read. */
const suspendedMs = 10_000;
/** Jobs that are remembered; the one that has been silent for longest is forgotten first. */
const mostJobs = 10_000;

export function watchHangs(options: HangOptions): Hangs {
  const { settings, now } = options;
  /** By job; the one seen most recently is last. */
  const watched = new Map<string, ReportingPod>();
  /** By job: when the reported hang began, and whether it was only suspected. */
  const reported = new Map<string, { readonly movedAt: number; readonly as: Reported }>();
  let lookedAt = now();

  function take(pod: TrainingPod, progress: JobProgress, from: 'file' | 'log'): void {
    const { uid } = pod.job;
    const before = watched.get(uid);
    const isSameStep = before !== undefined && isSameRun(before.pod, pod) && before.progress.step === progress.step;
    const phaseChanged = isSameStep && isResting(before.progress.phase) !== isResting(progress.phase);
    watched.delete(uid);
    const { fromLog: _, ...kept } = isSameStep
      ? { ...before, progress, ...(phaseChanged && { turnedAt: now() }) }
      : { pod, progress, movedAt: now() };
    watched.set(uid, { ...kept, ...(from === 'log' && { fromLog: true }) });
    const [oldest] = watched.keys();
    if (watched.size > mostJobs && oldest !== undefined) forget(oldest);
  }

  function judgeAll(): void {
    const at = now();
    const wasSuspended = at - lookedAt > suspendedMs;
    lookedAt = at;
    for (const seen of watched.values())
      logDefects(options.log, 'a job could not be judged', seen.pod.job, () => judgeOne(seen, at, wasSuspended));
  }

  function judgeOne(seen: ReportingPod, at: number, wasSuspended: boolean): void {
    const { uid } = seen.pod.job;
    if (wasSuspended || !canBeJudged(seen)) watched.set(uid, { ...seen, excusedAt: at, isLate: false });
    else judge(seen, at);
  }

  /** Missing progress is a sign of a hang only while all pods of the job run and could report. */
  function canBeJudged({ pod: reportingPod, fromLog }: ReportingPod): boolean {
    const job = options.job(reportingPod.job);
    if (!job?.optedIn || job.finished || job.suspension || job.overrides?.hang === 'ignore') return false;
    const pod = options.pod(reportingPod.uid);
    return (
      pod?.present === true &&
      isSameRun(pod, reportingPod) &&
      options.working(reportingPod.job) >= job.podsExpected &&
      options.isLive(pod.node) &&
      (!fromLog || options.isRead(pod))
    );
  }

  function judge(seen: ReportingPod, at: number): void {
    const { pod, progress, movedAt } = seen;
    const { job } = pod;
    const { witnesses = [], suspects = [] } = seen.fromLog ? options.witnesses(job, progress.at) : {};
    const witnessed = witnesses.length > 0 ? { ...seen, witnessedAt: seen.witnessedAt ?? at } : seen;
    const { kind, because, isLate } = judgeHang(witnessed, settings, at, witnesses);
    watched.set(job.uid, { ...witnessed, isLate });
    const before = reported.get(job.uid);
    const isReported = before?.movedAt === movedAt && (before.as === kind || before.as === 'hangs');
    if (kind === 'waits' || isReported) return;
    const report = {
      pod: pod.uid,
      progress,
      seenAt: new Date().toISOString(),
      witnesses: [because, ...witnesses],
      suspects,
    };
    reported.set(job.uid, { movedAt, as: kind });
    const fault = kind === 'hangs' ? hangFault(job, report) : noStepFault(job, report);
    options.raise(job, fault, () => reported.delete(job.uid));
  }

  function forget(uid: string): void {
    watched.delete(uid);
    reported.delete(uid);
  }

  return { take, isLate: (uid) => watched.get(uid)?.isLate === true, judgeAll, forget };
}

/** The same containers, not restarted. */
const isSameRun = (a: TrainingPod, b: TrainingPod): boolean => a.uid === b.uid && a.startedAt === b.startedAt;
