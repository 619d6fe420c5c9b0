/** Detects training that makes no progress although all pods run, and reports one fault for each hang. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { hangFault, type HangSettings, judgeHang, type Standstill } from '../../policy/progress/hang.ts';
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
  /** `onLost`: the fault was not sent. */
  readonly raise: (job: JobRef, fault: Fault, onLost: () => void) => void;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'error'>;
}

export interface Hangs {
  /** Accepts the progress of the job's reporting rank. */
  take(pod: TrainingPod, progress: JobProgress): void;
  /** Judges all jobs; to be called every second. */
  judgeAll(): void;
  forget(uid: string): void;
}

interface ReportingPod extends Standstill {
  readonly pod: TrainingPod;
}

/** After a gap of this length between two checks, ms, this process itself was suspended, and reports may still wait to be read. */
const suspendedMs = 10_000;
/** Jobs that are remembered; the one that has been silent for longest is forgotten first. */
const mostJobs = 10_000;

export function watchHangs(options: HangOptions): Hangs {
  const { settings, now } = options;
  /** By job; the one seen most recently is last. */
  const watched = new Map<string, ReportingPod>();
  /** By job: when the reported hang began. */
  const reported = new Map<string, number>();
  let lookedAt = now();

  function take(pod: TrainingPod, progress: JobProgress): void {
    const { uid } = pod.job;
    const before = watched.get(uid);
    const isSameStep = before !== undefined && isSameRun(before.pod, pod) && before.progress.step === progress.step;
    const phaseChanged = isSameStep && isResting(before.progress.phase) !== isResting(progress.phase);
    watched.delete(uid);
    watched.set(
      uid,
      isSameStep
        ? { ...before, progress, ...(phaseChanged && { turnedAt: now() }) }
        : { pod, progress, movedAt: now() },
    );
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
    if (wasSuspended || !canBeJudged(seen.pod)) watched.set(uid, { ...seen, excusedAt: at });
    else if (reported.get(uid) !== seen.movedAt) judge(seen, at);
  }

  /** Missing progress is a sign of a hang only while all pods of the job run and could report. */
  function canBeJudged(reportingPod: TrainingPod): boolean {
    const job = options.job(reportingPod.job);
    if (!job?.optedIn || job.finished || job.suspension || job.overrides?.hang === 'ignore') return false;
    const pod = options.pod(reportingPod.uid);
    return (
      pod?.present === true &&
      isSameRun(pod, reportingPod) &&
      options.working(reportingPod.job) >= job.podsExpected &&
      options.isLive(pod.node)
    );
  }

  function judge({ pod, ...seen }: ReportingPod, at: number): void {
    const decision = judgeHang(seen, settings, at);
    if (decision.kind === 'waits') return;
    const { job, uid } = pod;
    reported.set(job.uid, seen.movedAt);
    options.raise(job, hangFault(job, uid, seen.progress, decision.because, new Date().toISOString()), () =>
      reported.delete(job.uid),
    );
  }

  function forget(uid: string): void {
    watched.delete(uid);
    reported.delete(uid);
  }

  return { take, judgeAll, forget };
}

/** The same containers, not restarted. */
const isSameRun = (a: TrainingPod, b: TrainingPod): boolean => a.uid === b.uid && a.startedAt === b.startedAt;
