/**
 * Writes the progress annotations of jobs: for each job the newest progress of its reporting rank, and its pace, rarely. Written at once are:
 * the beginning of an attempt, the last known progress when a fault is reported, a change between training and another phase, and a checkpoint
 * that is saved at the very end.
 */

import type { JobRef } from '../../contract/job/jobs.ts';
import type { JobProgress, Pace } from '../../contract/progress/progress.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import {
  afterBreak,
  foldPace,
  isResting,
  paceFrom,
  paceOf,
  type PaceObservations,
} from '../../policy/progress/pace.ts';

export interface ProgressWriterOptions {
  /** Minimum time between two writes of one job, ms. */
  readonly everyMs: number;
  /** False when the job is gone. Throws when it is to be tried again. */
  readonly write: (job: JobRef, progress: JobProgress) => Promise<boolean>;
  /** What the job's annotations say, if known. */
  readonly annotated: (job: JobRef) => JobProgress | undefined;
  /** What makes it slow, while it is. */
  readonly slow: (job: JobRef) => Pace['slow'];
  /** Whether the job is opted in; progress of others is remembered, and not written. */
  readonly isOptedIn: (job: JobRef) => boolean;
  /** Whether a pod, by UID, belongs to the latest attempt, and may still report. */
  readonly isLatest: (pod: string) => boolean;
  readonly timing: WriterClock;
  readonly onWrite: (job: JobRef, result: WriteResult, error?: unknown) => void;
  /** Jobs that are remembered; the one that has been silent for longest is forgotten first. */
  readonly most?: number;
  /** Writes in flight. */
  readonly parallel?: number;
  /** No write begins after it aborts: another controller may lead by then, and know newer progress. */
  readonly signal: AbortSignal;
}

export type WriteResult = 'written' | 'gone' | 'failed';

export interface WriterClock {
  /** Monotonic, ms. */
  readonly now: () => number;
  /** Calls `act` after this time; returns how to cancel that. */
  readonly after: (ms: number, act: () => void) => () => void;
}

export interface ProgressWriter {
  /** Takes progress that counts. `stepped-back`: the pod was further before; it is accepted nevertheless. */
  take(pod: TrainingPod, rank: number, progress: JobProgress): 'accepted' | 'stepped-back' | 'not-its-turn';
  /** Writes the last known progress of the job now. */
  hasten(job: JobRef): void;
  /** The job changed: it may have opted in. */
  lookAgain(job: JobRef): void;
  /** The last known progress of the job, by UID, written or not. */
  newest(uid: string): JobProgress | undefined;
  forget(uid: string): void;
  /** Number of jobs that are remembered. */
  readonly size: number;
}

/** Minimum time between two writes of one job, even if urgent, ms: a node can report faults as often as it likes. */
const leastMs = 1000;
const longestRetryMs = 60_000;

interface JobProgressState {
  readonly job: JobRef;
  reportingRank?: { readonly rank: number; readonly pod: string };
  newest?: JobProgress;
  pace: PaceObservations;
  written: JobProgress | undefined;
  /** When the last write began. */
  lastMs: number;
  urgent: boolean;
  state: 'idle' | 'queued' | 'writing';
  failures: number;
  callOff?: () => void;
}

export function createProgressWriter(options: ProgressWriterOptions): ProgressWriter {
  const { everyMs, annotated, isLatest, timing, most = 10_000, parallel = 16, signal } = options;
  /** By UID; the job that reported most recently is last. */
  const jobs = new Map<string, JobProgressState>();
  const queue: JobProgressState[] = [];
  let inFlight = 0;

  function remember(job: JobRef): JobProgressState {
    const kept = jobs.get(job.uid) ?? open(job);
    jobs.delete(job.uid);
    jobs.set(job.uid, kept);
    const [oldest] = jobs.keys();
    if (jobs.size > most && oldest !== undefined) forget(oldest);
    return kept;
  }

  function open(job: JobRef): JobProgressState {
    const written = annotated(job);
    return {
      job,
      written,
      pace: paceFrom(written?.pace),
      lastMs: -Infinity,
      urgent: false,
      state: 'idle',
      failures: 0,
    };
  }

  function forget(uid: string): void {
    jobs.get(uid)?.callOff?.();
    jobs.delete(uid);
  }

  function take(pod: TrainingPod, rank: number, progress: JobProgress): ReturnType<ProgressWriter['take']> {
    const kept = remember(pod.job);
    const { reportingRank, newest } = kept;
    const isReporting = reportingRank !== undefined && isLatest(reportingRank.pod);
    // Only the reporting rank itself counts, or a rank that takes precedence.
    if (isReporting && pod.uid !== reportingRank.pod && rank >= reportingRank.rank) return 'not-its-turn';
    if (!isReporting) begin(kept, pod, reportingRank === undefined);
    if (reportingRank?.pod !== pod.uid) kept.pace = afterBreak(kept.pace);
    kept.reportingRank = { rank, pod: pod.uid };
    kept.urgent ||= isUrgent(progress, newest ?? kept.written, pod);
    const done = { ...progress, at: doneAt(progress, pod, newest ?? kept.written), pod: pod.uid };
    kept.pace = foldPace(kept.pace, done);
    const pace = paceOf(kept.pace);
    const slow = options.slow(pod.job);
    kept.newest = { ...done, ...(pace && { pace: { ...pace, ...(slow && { slow }) } }) };
    plan(kept);
    return reportingRank?.pod === pod.uid && newest !== undefined && progress.step < newest.step
      ? 'stepped-back'
      : 'accepted';
  }

  /** The first progress of an attempt is urgent, unless another leader has already written one of the same attempt. */
  function begin(kept: JobProgressState, { startedAt = '' }: TrainingPod, firstReport: boolean): void {
    const known = firstReport && kept.written !== undefined && Date.parse(kept.written.at) >= Date.parse(startedAt);
    if (known) kept.lastMs = timing.now();
    else kept.urgent = true;
  }

  function hasten({ uid }: JobRef): void {
    const kept = jobs.get(uid);
    if (!kept) return;
    kept.urgent = true;
    plan(kept);
  }

  function lookAgain({ uid }: JobRef): void {
    const kept = jobs.get(uid);
    if (kept) plan(kept);
  }

  function plan(kept: JobProgressState): void {
    kept.callOff?.();
    if (kept.state !== 'idle' || !options.isOptedIn(kept.job)) return;
    if (isSame(kept.newest, kept.written)) {
      kept.urgent = false;
      return;
    }
    const rest =
      kept.failures > 0
        ? Math.min(longestRetryMs, 500 * 2 ** Math.min(kept.failures, 10))
        : kept.urgent
          ? leastMs
          : everyMs;
    kept.callOff = timing.after(Math.max(0, kept.lastMs + rest - timing.now()), () => {
      kept.state = 'queued';
      queue.push(kept);
      pump();
    });
  }

  function pump(): void {
    while (!signal.aborted && inFlight < parallel) {
      const kept = queue.shift();
      if (!kept) return;
      void write(kept);
    }
  }

  async function write(kept: JobProgressState): Promise<void> {
    const { job, newest } = kept;
    if (newest === undefined || jobs.get(job.uid) !== kept) return;
    if (!options.isOptedIn(job)) {
      kept.state = 'idle';
      return;
    }
    kept.state = 'writing';
    kept.urgent = false;
    kept.lastMs = timing.now();
    inFlight++;
    const result = await attempt(job, newest);
    inFlight--;
    kept.state = 'idle';
    kept.failures = result === 'failed' ? kept.failures + 1 : 0;
    if (result === 'written') kept.written = newest;
    if (result === 'gone') forget(job.uid);
    else if (jobs.get(job.uid) === kept) plan(kept);
    pump();
  }

  async function attempt(job: JobRef, progress: JobProgress): Promise<WriteResult> {
    try {
      const result = (await options.write(job, progress)) ? 'written' : 'gone';
      options.onWrite(job, result);
      return result;
    } catch (error) {
      options.onWrite(job, 'failed', error);
      return 'failed';
    }
  }

  return {
    take,
    hasten,
    lookAgain,
    newest: (uid) => jobs.get(uid)?.newest,
    forget,
    get size() {
      return jobs.size;
    },
  };
}

/** A step is done once: a trainer that reports it again with a new time has not moved on. */
const doneAt = ({ step, at }: JobProgress, { uid }: TrainingPod, before: JobProgress | undefined): string =>
  before?.step === step && before.pod === uid ? before.at : at;

/** Training changes to another phase or back; or a terminating pod has saved more than was known. */
const isUrgent = (progress: JobProgress, before: JobProgress | undefined, { present }: TrainingPod): boolean =>
  isResting(progress.phase) !== isResting(before?.phase) ||
  (!present && (progress.checkpointStep ?? -1) > (before?.checkpointStep ?? -1));

/** The pace changes only with the steps. */
const isSame = (a: JobProgress | undefined, b: JobProgress | undefined): boolean =>
  a?.step === b?.step &&
  a?.checkpointStep === b?.checkpointStep &&
  a?.phase === b?.phase &&
  Date.parse(a?.at ?? '') === Date.parse(b?.at ?? '');
