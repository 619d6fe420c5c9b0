/** What the logs of the present attempts say, in memory. */

import type { LoggedStraggler, LoggedWatchdog, LogReport } from '../../contract/progress/logs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { type LoggedProgress, progressOfLogs, type RankLog } from '../../policy/progress/log-progress.ts';
import { judgeWatchdogs, type WatchdogFindings } from '../../policy/progress/watchdogs.ts';
import { openMembers } from '../members.ts';

export interface PodLog extends RankLog {
  readonly pod: TrainingPod;
}

export interface LogTable {
  /** Without a report, what is known of the pod stays. */
  put(log: PodLog): void;
  /** The logs of the node that its agent reads now, by UID of the pod. */
  reads(node: string, pods: readonly string[]): void;
  isRead(pod: Pick<TrainingPod, 'uid' | 'node'>): boolean;
  /** Undefined while no log of the job has a step. */
  progressOf(job: string): LoggedProgress<PodLog> | undefined;
  /** What watchdogs have written since then (RFC 3339). */
  watchdogsOf(job: string, since: string): WatchdogFindings;
  /** The rank that the newest straggler report since then names. */
  stragglerOf(job: string, since: string): LoggedStraggler | undefined;
  forget(job: string): void;
}

/** `isLatest`: whether the pod belongs to the latest attempt. */
export function openLogTable(isLatest: (pod: string) => boolean): LogTable {
  const logs = new Map<string, PodLog>();
  /** By UID of the job. */
  const members = openMembers();
  const readOn = new Map<string, ReadonlySet<string>>();

  /** Logs of earlier attempts are forgotten. */
  function logsOf(job: string): readonly PodLog[] {
    for (const uid of members.of(job)) if (!isLatest(uid)) drop(uid);
    return [...members.of(job)].flatMap((uid) => logs.get(uid) ?? []);
  }

  function drop(uid: string): void {
    logs.delete(uid);
    members.leave(uid);
  }

  const isRead = ({ uid, node }: Pick<TrainingPod, 'uid' | 'node'>): boolean => readOn.get(node)?.has(uid) === true;

  return {
    put(log) {
      const { pod } = log;
      logsOf(pod.job.uid);
      logs.set(pod.uid, { ...logs.get(pod.uid), ...log });
      members.put(pod.job.uid, pod.uid);
    },
    reads: (node, pods) => void (pods.length > 0 ? readOn.set(node, new Set(pods)) : readOn.delete(node)),
    isRead,
    progressOf: (job) => progressOfLogs(logsOf(job)),
    watchdogsOf(job, since) {
      const read = logsOf(job).filter(({ pod }) => isRead(pod));
      return judgeWatchdogs(read.map(({ pod, report }) => ({ pod, watchdogs: watchdogsSince(report, since) })));
    },
    stragglerOf: (job, since) =>
      logsOf(job)
        .flatMap(({ report }) => report?.straggler ?? [])
        .filter(({ at }) => Date.parse(at) >= Date.parse(since))
        .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))[0],
    forget: (job) => [...members.of(job)].forEach(drop),
  };
}

const watchdogsSince = (report: LogReport | undefined, since: string): readonly LoggedWatchdog[] =>
  (report?.watchdogs ?? []).filter(({ at }) => Date.parse(at) >= Date.parse(since));
