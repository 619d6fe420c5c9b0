/** Watches the pods of jobs, and no others: each failure that counts is sent to the job's workflow once. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import { type JobKindEntry, jobKey, jobKinds, jobOfPod } from '../../kube/jobs/kinds/index.ts';
import { isUnexplained, podFailures } from '../../kube/pods/failures.ts';
import { trimPod } from '../../kube/client/trim.ts';
import type { WatchEvent } from '../../kube/client/watch.ts';
import { failuresToReport, type WatchedPod, whyNotReported } from '../../policy/incident/pod-watch.ts';
import { faultMessage } from '../outbox/messages.ts';
import { logDefects } from '../log-defects.ts';
import { follow, enqueue, type WatchContext } from './follow.ts';
import type { KnownJob } from './known-jobs.ts';
import { pause } from './retry-while-leading.ts';

type Pod = Parameters<typeof podFailures>[0];

interface RememberedPod extends WatchedPod {
  readonly reported: Set<string>;
  /** Monotonic, ms. */
  readonly unexplainedSince: number | undefined;
}

/**
 * How long a new leader waits for reports of agents first, ms. While no controller led, a node could not report why its pods died,
 * and a restart without that knowledge may place pods on it again. Longer than an agent's longest back-off.
 */
const firstReportsMs = 10_000;
/** How often it checks whether a silent agent is seen again, ms. */
const checkEveryMs = 1000;
/** How long a kubelet may take to report why it ended a pod, ms: an eviction is not a failure of the job. */
const reasonMs = 5000;
/** Longer than any job waits for it, ms. */
const mostWaitMs = 10 * 60_000;
/** How often it checks whether agents have reported, ms. */
const listenMs = 100;

export interface PodsOptions extends WatchContext {
  /** Whether the node's agent was seen since this time (monotonic, ms), or since this controller leads. */
  readonly seenSince: (node: string, since?: number) => boolean;
  /** Why the node could not have reported the cause; undefined while its agent is live. */
  readonly whyUnobservable: (node: string) => string | undefined;
  readonly job: (job: JobRef) => KnownJob | undefined;
  /** Every change of a pod of a job. */
  readonly onPod: (event: WatchEvent<Pod>) => void;
}

export interface PodsWatch {
  /** Resolves when the pods of the jobs of every kind were listed. */
  readonly synced: Promise<unknown>;
  /** Whether what is known of the pods of jobs is up to date. */
  isUpToDate(): boolean;
  /** The job changed, or its owner: failures of the pods that it controls may count now. */
  lookAgain(job: JobRef): void;
}

export function watchPods(options: PodsOptions): PodsWatch {
  // By the job that they claim controls them, then by UID; only pods that have failed.
  const remembered = new Map<string, Map<string, RememberedPod>>();
  const ledSince = performance.now();
  const listening = new Set<string>();
  /** Ids of faults that were sent while their agent was silent. */
  const awaitingAgent = new Set<string>();

  const isExplained = ({ unexplainedSince: since }: RememberedPod) =>
    since === undefined || performance.now() - since > reasonMs;
  const maySpeak = ({ node }: Fault) =>
    node === undefined || options.seenSince(node) || performance.now() - ledSince > firstReportsMs;

  /** Looks again soon; once for each job, however many of its pods wait. */
  function listen(owner: JobRef): void {
    const key = jobKey(owner);
    if (listening.has(key)) return;
    listening.add(key);
    setTimeout(() => {
      listening.delete(key);
      if (!options.signal.aborted)
        logDefects(options.log, 'pods could not be checked again', { job: owner }, () => lookAgain(owner));
    }, listenMs);
  }

  /** The agent may come back before the job has waited long enough: then the failure is sent again, as one that can be judged. */
  async function reportOnceSeen(owner: JobRef, fault: Fault, node: string): Promise<void> {
    if (awaitingAgent.has(fault.id)) return;
    awaitingAgent.add(fault.id);
    const since = performance.now();
    while (!options.signal.aborted && !options.seenSince(node, since) && performance.now() - since < mostWaitMs)
      await pause(checkEveryMs, options.signal);
    awaitingAgent.delete(fault.id);
    const job = options.job(owner);
    if (!job || !options.seenSince(node, since) || whyNotReported(job, podsOf(owner)) !== undefined) return;
    enqueue(options, faultMessage({ kind: 'job', job: job.ref }, fault));
  }

  const podsOf = (owner: JobRef): readonly RememberedPod[] => [...(remembered.get(jobKey(owner))?.values() ?? [])];

  function remember(owner: JobRef, pod: WatchedPod): void {
    const pods = remembered.get(jobKey(owner)) ?? new Map<string, RememberedPod>();
    const before = pods.get(pod.uid);
    const reported = before?.reported ?? new Set<string>();
    if (pod.failures.length === 0 && !pod.succeededAs && reported.size === 0) return;
    pods.set(pod.uid, {
      ...pod,
      reported,
      unexplainedSince: pod.unexplained && (before?.unexplainedSince ?? performance.now()),
    });
    remembered.set(jobKey(owner), pods);
  }

  function forget(owner: JobRef, uid: string): void {
    const pods = remembered.get(jobKey(owner));
    pods?.delete(uid);
    if (pods?.size === 0) remembered.delete(jobKey(owner));
  }

  function lookAgain(owner: JobRef): void {
    const job = options.job(owner);
    if (!job) return;
    const pods = podsOf(owner);
    const reported = new Set(pods.flatMap((pod) => [...pod.reported]));
    for (const fault of failuresToReport(job, pods, reported)) {
      const pod = pods.find(({ uid }) => uid === fault.pod?.uid);
      if (!maySpeak(fault) || (pod && !isExplained(pod))) {
        listen(owner);
        continue;
      }
      const reportedOfPod = pod?.reported;
      reportedOfPod?.add(fault.id);
      const unobservable = fault.node === undefined ? undefined : options.whyUnobservable(fault.node);
      options.log.info({ job: job.ref, fault, unobservable }, 'a pod of the job failed');
      enqueue(
        options,
        faultMessage({ kind: 'job', job: job.ref }, { ...fault, ...(unobservable !== undefined && { unobservable }) }),
        () => reportedOfPod?.delete(fault.id),
      );
      if (unobservable !== undefined)
        reportOnceSeen(owner, fault, fault.node ?? '').catch((error: unknown) =>
          options.log.error({ err: error, fault }, 'defect: not reported again'),
        );
    }
  }

  // Pods of a child job are watched with the child's kind.
  const kinds = Object.values<JobKindEntry>(jobKinds).filter(({ controlsNoPods }) => !controlsNoPods);
  const unseen = new Set(kinds);
  const watches = kinds.map((entry) =>
    follow<Pod>(options, {
      what: `pods of ${entry.kind}`,
      onReachability: (isReachable) => void (isReachable ? unseen.delete(entry) : unseen.add(entry)),
      path: '/api/v1/pods',
      trim: trimPod,
      labelSelector: entry.podsOfKind,
      onEvent(event) {
        const { type, object } = event;
        const owner = jobOfPod(object);
        if (owner?.kind !== entry.kind) return;
        options.onPod(event);
        if (type === 'deleted') return forget(owner, object.metadata?.uid ?? '');
        remember(owner, watchedPodOf(object, entry));
        lookAgain(owner);
      },
    }),
  );
  return { lookAgain, isUpToDate: () => unseen.size === 0, synced: Promise.all(watches.map((watch) => watch.synced)) };
}

function watchedPodOf(pod: Pod, entry: JobKindEntry): WatchedPod {
  const succeededAs = pod.status?.phase === 'Succeeded' ? entry.roleOf(pod.metadata?.labels ?? {}) : undefined;
  return {
    uid: pod.metadata?.uid ?? '',
    failures: podFailures(pod, entry),
    ...(isUnexplained(pod) && { unexplained: true }),
    ...(succeededAs && { succeededAs }),
  };
}
