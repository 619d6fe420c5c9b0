/** Progress of training while this controller leads: from what agents read in files and logs to the annotations of jobs. */

import type { Logger } from 'pino';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { LogDefaults, LogReports, WantedLog } from '../../contract/progress/logs.ts';
import type { ProgressFile } from '../../contract/progress/progress.ts';
import { preflightLimits } from '../../contract/preflight/preflight.ts';
import { controllingJob } from '../../kube/jobs/kinds/index.ts';
import { isMaster, rankOf } from '../../kube/pods/ranks.ts';
import { isWorking, type TrainingPod, trainingPodOf } from '../../kube/pods/training-pods.ts';
import type { WatchEvent } from '../../kube/client/watch.ts';
import type { WorkflowMessage } from '../outbox/messages.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { PodNamed } from '../loki/pod-lines.ts';
import { logDefects } from '../log-defects.ts';
import type { KnownJob } from '../watch/known-jobs.ts';
import { type CountedProgress, decideProgress, type ProgressFileDecision } from './decide-file.ts';
import { type HangOptions, watchHangs } from './hangs.ts';
import { watchSlowdowns } from './slowdowns.ts';
import { createProgressWriter, type ProgressWriterOptions, type WriterClock, type WriteResult } from './writer.ts';
import { openLogTable } from './log-table.ts';
import { type LogDecision, logTaker } from './logs.ts';
import { oddityReporter } from './oddities.ts';
import { openTrainingPods } from './pod-table.ts';
import { type AskedPod, passOnRestarts, type RestartOptions, type Restarts } from './restarts.ts';
import { type LoggingJob, wantedLogs } from './wanted-logs.ts';
import { countWorkers } from './workers.ts';
import { findStragglers } from './stragglers.ts';
import type { SlowSettings } from '../../policy/progress/slow.ts';

type Pod = Parameters<typeof trainingPodOf>[0];

export interface ProgressOptions {
  /** As the progress writer needs it. */
  readonly write: ProgressWriterOptions['write'];
  readonly writeAnswers: RestartOptions['write'];
  readonly everyMs: number;
  readonly logDefaults: LogDefaults;
  readonly hang: Pick<HangOptions, 'settings' | 'isLive' | 'raise'>;
  readonly slow: SlowSettings;
  /** The job, or its owner, if it exists. */
  readonly job: (job: JobRef) => KnownJob | undefined;
  readonly metrics: Pick<
    ControllerMetrics,
    'progressFiles' | 'logReports' | 'progressOdd' | 'progressWrites' | 'trainingHangs' | 'trainingSlowdowns'
  >;
  readonly log: Logger;
  /** Nothing is written after it aborts. */
  readonly signal: AbortSignal;
}

export interface ProgressWatch {
  /** A pod of a job changed. */
  see(event: WatchEvent<Pod>): void;
  /** Takes a file of this node; returns what it counts as. */
  take(file: ProgressFile, node: string): ProgressFileDecision['answer'];
  /** Takes what the logs of a node say; returns for each what it counts as. */
  takeLogs(reports: Omit<LogReports, 'schema'>): readonly LogDecision[];
  /** The logs of a node that its agent shall follow. */
  wantedLogs(node: string): readonly WantedLog[];
  /** Takes a step that this pod reports about itself; returns what it counts as. */
  takeStep(podUid: string, step: number): ProgressFileDecision['answer'];
  /** Whether this pod is asked to restart training in its processes. */
  restartOf: Restarts['requestFor'];
  answerRestart: Restarts['answer'];
  /** Called for every message that is sent. If it may open an incident, the last known progress of its jobs is written at once, before they are stopped. */
  onMessage(message: WorkflowMessage): void;
  /** The training pod of this name. */
  podNamed: PodNamed;
  /** The job is known now, or its owner. */
  lookAgain(job: JobRef): void;
  /** The job object is gone. */
  forget(job: JobRef): void;
}

/** What is read in logs comes after the files of all ranks. */
const behindFiles = preflightLimits.size;
/** While writes keep failing, they are logged this often, ms. */
const remindMs = 60_000;
/** Jobs are judged this often, ms. */
const lookMs = 1000;

export function watchProgress(options: ProgressOptions): ProgressWatch {
  const { write, writeAnswers, everyMs, logDefaults, hang, slow, job, metrics, log, signal } = options;
  const timing = timingUntil(signal, log);
  const pods = openTrainingPods(timing.now, (ref) => job(ref)?.ref);
  const workers = countWorkers((ref) => job(ref)?.ref ?? ref);
  const writer = createProgressWriter({
    everyMs,
    write,
    annotated: (ref) => job(ref)?.progress,
    isOptedIn: (ref) => job(ref)?.optedIn === true,
    slow: ({ uid }) => slowdowns.of(uid),
    isLatest: pods.isLatest,
    timing,
    onWrite: reportWrite,
    signal,
  });
  const logs = openLogTable(pods.isLatest);
  const hangs = watchHangs({
    ...hang,
    raise,
    job,
    pod: pods.get,
    working: workers.of,
    isRead: logs.isRead,
    witnesses: (ref, since) => logs.watchdogsOf(ref.uid, since),
    now: timing.now,
    log,
  });
  const stragglers = findStragglers(logs, pods, rankIn);
  const slowdowns = watchSlowdowns({ settings: slow, job, working: workers.of, stragglers, raise: raiseSlow });
  const restarts = passOnRestarts({ pod: askedPod, write: writeAnswers, now: Date.now, signal });
  /** By job: UID of the pod that wrote the last file that counted. */
  const fileWriters = new Map<string, string>();
  const reportOdd = oddityReporter(metrics.progressOdd, log);
  let remindedAt = -Infinity;

  function reportWrite(ref: JobRef, result: WriteResult, error?: unknown): void {
    metrics.progressWrites.inc({ result });
    if (result !== 'failed' || signal.aborted || performance.now() - remindedAt < remindMs) return;
    remindedAt = performance.now();
    log.warn({ job: ref, err: error }, `the progress of ${jobTitle(ref)} cannot be written yet`);
  }

  function raise(...[ref, fault, onLost]: Parameters<HangOptions['raise']>): void {
    metrics.trainingHangs.inc();
    log.warn({ job: ref, fault }, `${jobTitle(ref)} makes no progress`);
    hang.raise(ref, fault, onLost);
  }

  function raiseSlow(...[ref, fault, onLost]: Parameters<HangOptions['raise']>): void {
    metrics.trainingSlowdowns.inc();
    log.warn({ job: ref, fault }, `${jobTitle(ref)} trains more slowly than before`);
    hang.raise(ref, fault, onLost);
  }

  const writesFiles = ({ uid }: JobRef): boolean => pods.isLatest(fileWriters.get(uid) ?? '');

  function loggingJob(pod: TrainingPod): LoggingJob | undefined {
    const view = job(pod.job);
    const { uid } = pod.job;
    return view && { view, rank: rankIn(pod), writesFiles: writesFiles(pod.job), isLate: hangs.isLate(uid) };
  }

  const takeLogs = logTaker({
    table: logs,
    writersOn: pods.writersOn,
    jobOf: loggingJob,
    logDefaults,
    count,
    onAnswer: (answer) => metrics.logReports.inc({ answer }),
  });

  function look(): void {
    hangs.judgeAll();
    timing.after(lookMs, look);
  }
  timing.after(lookMs, look);

  function rankIn({ place, job: ref }: TrainingPod): number | undefined {
    const known = job(ref);
    // In every kind with a master, the job succeeds when the master does.
    return rankOf(place, known && isMaster(known.succeedsWith?.role));
  }

  function take(file: ProgressFile, node: string): ProgressFileDecision['answer'] {
    const writers = pods
      .writersOn(node)
      .filter((pod) => pod.job.namespace === file.namespace && pod.workload === file.job && rankIn(pod) === file.rank);
    const decision = decideProgress(file, writers, Date.now());
    metrics.progressFiles.inc({ answer: decision.answer });
    if (decision.answer !== 'counted') return decision.answer;
    fileWriters.set(decision.pod.job.uid, decision.pod.uid);
    count(decision, file.rank, 'file');
    return 'counted';
  }

  function count({ pod, odd, progress }: CountedProgress, rank: number, from: 'file' | 'log'): void {
    for (const each of odd) reportOdd(pod, each);
    const accepted = writer.take(pod, from === 'file' ? rank : behindFiles + rank, progress);
    if (accepted === 'stepped-back') reportOdd(pod, 'step-back');
    if (accepted === 'not-its-turn') return;
    const newest = writer.newest(pod.job.uid) ?? progress;
    hangs.take(pod, newest, from);
    slowdowns.take(pod, newest, from);
  }

  /** Dated by our own clock: the step was done just before. */
  function takeStep(podUid: string, step: number): ProgressFileDecision['answer'] {
    const pod = pods.get(podUid);
    const rank = pod && rankIn(pod);
    if (pod === undefined || rank === undefined) return 'no-pod';
    const at = new Date().toISOString();
    const { namespace } = pod.job;
    return take({ namespace, job: pod.workload, rank, writtenAt: at, progress: { step, at } }, pod.node);
  }

  function askedPod(uid: string): AskedPod | undefined {
    const pod = pods.isLatest(uid) ? pods.get(uid) : undefined;
    const known = pod && job(pod.job);
    const rank = pod && rankIn(pod);
    return known && rank !== undefined ? { job: known, rank, createdAt: pod.createdAt } : undefined;
  }

  return {
    see({ type, object }) {
      const { namespace = '', uid = '', ownerReferences } = object.metadata ?? {};
      const owner = controllingJob(namespace, ownerReferences);
      if (owner) workers.put(owner, uid, type !== 'deleted' && isWorking(object));
      const pod = type === 'deleted' ? undefined : trainingPodOf(object);
      if (pod) pods.put(pod);
      else pods.remove(uid);
    },
    take,
    takeLogs,
    wantedLogs: (node) => wantedLogs(pods.writersOn(node), loggingJob, logDefaults),
    takeStep,
    restartOf: restarts.requestFor,
    answerRestart: restarts.answer,
    podNamed(namespace, name) {
      const pod = pods.named(namespace, name);
      return pod && { pod, optedIn: job(pod.job)?.optedIn === true };
    },
    onMessage({ kind, starts }) {
      if (kind !== 'faultsObserved' && kind !== 'recover') return;
      if (starts?.kind === 'job') writer.hasten(starts.job);
      else if (starts?.kind === 'node') for (const under of pods.jobsOn(starts.node)) writer.hasten(under);
    },
    lookAgain(ref) {
      pods.lookAgain(ref);
      workers.lookAgain(ref);
      writer.lookAgain(ref);
    },
    forget({ uid }) {
      writer.forget(uid);
      hangs.forget(uid);
      slowdowns.forget(uid);
      logs.forget(uid);
      restarts.forget(uid);
      fileWriters.delete(uid);
    },
  };
}

const timingUntil = (signal: AbortSignal, log: Logger): WriterClock => ({
  now: () => performance.now(),
  after(ms, act) {
    const timer = setTimeout(() => {
      if (!signal.aborted) logDefects(log, 'a scheduled write or check failed', {}, act);
    }, ms).unref();
    return () => clearTimeout(timer);
  },
});
