/** What the logs of the present attempts say, in memory. */

import type { Suspect } from '../../contract/faults/faults.ts';
import type { LoggedWatchdog, LogReport } from '../../contract/progress/logs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { type LoggedProgress, progressOfLogs, type RankLog } from '../../policy/progress/log-progress.ts';
import { suspectsOf, watchdogSentence } from '../../policy/progress/watchdogs.ts';
import { openMembers } from '../members.ts';

export interface PodLog extends RankLog {
  readonly pod: TrainingPod;
}

export interface LogTable {
  put(log: PodLog): void;
  /** The logs of the node that its agent reads now, by UID of the pod. */
  reads(node: string, pods: readonly string[]): void;
  isRead(pod: TrainingPod): boolean;
  /** Undefined while no log of the job has a step. */
  progressOf(job: string): LoggedProgress<PodLog> | undefined;
  /** What watchdogs have written since then (RFC 3339), and whom that leads to. */
  watchdogsOf(
    job: string,
    since: string,
  ): { readonly witnesses: readonly string[]; readonly suspects: readonly Suspect[] };
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
    const uids = [...members.of(job)];
    for (const uid of uids.filter((each) => !isLatest(each))) drop(uid);
    return [...members.of(job)].flatMap((uid) => logs.get(uid) ?? []);
  }

  function drop(uid: string): void {
    logs.delete(uid);
    members.leave(uid);
  }

  return {
    put(log) {
      logsOf(log.pod.job.uid);
      logs.set(log.pod.uid, log);
      members.put(log.pod.job.uid, log.pod.uid);
    },
    reads: (node, pods) => void (pods.length > 0 ? readOn.set(node, new Set(pods)) : readOn.delete(node)),
    isRead: ({ uid, node }) => readOn.get(node)?.has(uid) === true,
    progressOf: (job) => progressOfLogs(logsOf(job)),
    watchdogsOf(job, since) {
      const found = logsOf(job).flatMap(({ pod, report }) =>
        watchdogsSince(report, since).map((one) => ({ ...one, pod })),
      );
      return { witnesses: found.map(watchdogSentence), suspects: suspectsOf(found) };
    },
    forget: (job) => [...members.of(job)].forEach(drop),
  };
}

const watchdogsSince = ({ watchdogs = [] }: LogReport, since: string): readonly LoggedWatchdog[] =>
  watchdogs.filter(({ at }) => Date.parse(at) >= Date.parse(since));
