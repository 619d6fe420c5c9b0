/** Detects training that has become slower, and reports one fault for each slowdown. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import type { JobProgress, Pace } from '../../contract/progress/progress.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { foldTrend, type PaceTrend, slowdownOf, slowFault, type SlowSettings } from '../../policy/progress/slow.ts';

type SlowableJob = Pick<JobView, 'optedIn' | 'finished' | 'suspension' | 'podsExpected' | 'overrides'>;

export interface SlowdownOptions {
  readonly settings: SlowSettings;
  /** The job as its watch knows it. */
  readonly job: (job: JobRef) => SlowableJob | undefined;
  /** How many pods of the job work. */
  readonly working: (job: JobRef) => number;
  /** What the trainer's own reports since then (RFC 3339) say about its slowest rank. */
  readonly stragglers: (job: JobRef, since: string) => Pick<Fault, 'witnesses' | 'suspects'>;
  /** `onLost`: the fault was not sent. */
  readonly raise: (job: JobRef, fault: Fault, onLost: () => void) => void;
}

export interface Slowdowns {
  /** Accepts the progress of the job's reporting rank. `from`: where it was read. */
  take(pod: TrainingPod, progress: JobProgress, from: 'file' | 'log'): void;
  /** The slowdown of the job, by UID, while it lasts. */
  of(uid: string): Pace['slow'];
  forget(uid: string): void;
}

interface WatchedTraining {
  /** What has to stay the same for steps to be comparable. */
  readonly run: string;
  readonly trend: PaceTrend;
  /** Whether its slowdown was reported. */
  readonly isReported: boolean;
}

/** Jobs that are remembered; the one that has been silent for longest is forgotten first. */
const mostJobs = 10_000;

/**
 * Only steps are judged, when they are reported, so missing reports say nothing. What was measured is forgotten when the job cannot be judged,
 * or goes on in another way.
 */
export function watchSlowdowns({ settings, job: jobOf, working, stragglers, raise }: SlowdownOptions): Slowdowns {
  /** By job; the one seen most recently is last. */
  const watched = new Map<string, WatchedTraining>();

  function take(pod: TrainingPod, progress: JobProgress, from: 'file' | 'log'): void {
    const { uid } = pod.job;
    const before = watched.get(uid);
    watched.delete(uid);
    const job = jobOf(pod.job);
    if (!job || !canBeJudged(job, pod)) return;
    const run = runOf(job, pod, from);
    const { trend, isReported = false } = before?.run === run ? before : {};
    const next = foldTrend(trend, progress, settings);
    watched.set(uid, { run, trend: next, isReported: isReported && next.slow !== undefined });
    const [oldest] = watched.keys();
    if (watched.size > mostJobs && oldest !== undefined) watched.delete(oldest);
    report(pod);
  }

  function canBeJudged(job: SlowableJob, pod: TrainingPod): boolean {
    const { optedIn, finished, suspension, overrides, podsExpected } = job;
    if (!optedIn || finished || suspension || overrides?.slow === 'ignore') return false;
    return pod.present && working(pod.job) >= podsExpected;
  }

  function report({ uid: pod, job }: TrainingPod): void {
    const seen = watched.get(job.uid);
    const slow = seen && slowdownOf(seen.trend, settings);
    if (!slow || seen.isReported) return;
    const found = stragglers(job, slow.from.at);
    const fault = slowFault(job, { ...slow, pod, seenAt: new Date().toISOString(), found });
    watched.set(job.uid, { ...seen, isReported: true });
    raise(job, fault, () => {
      const now = watched.get(job.uid);
      if (now) watched.set(job.uid, { ...now, isReported: false });
    });
  }

  return {
    take,
    of(uid) {
      const { trend } = watched.get(uid) ?? {};
      const slow = trend && slowdownOf(trend, settings);
      return slow && { since: slow.from.at, bestMsPerStep: Number(slow.bestMs.toPrecision(3)) };
    },
    forget: (uid) => void watched.delete(uid),
  };
}

/** The same containers of a job of the same size, whose steps are read in the same way. */
const runOf = ({ podsExpected, overrides = { ignored: [] } }: SlowableJob, pod: TrainingPod, from: string): string =>
  [pod.uid, pod.startedAt, podsExpected, from, overrides.logFormat, overrides.logStep].join(' ');
