/** Watches the pods that test their node, and finds the pod that wrote a report. Workflows are notified when a set of them tests, and when none is left. */

import type { JobRef } from '../../contract/job/jobs.ts';
import type { Amounts } from '../../contract/recovery/placement.ts';
import type { NodeShare, Workload } from '../../contract/preflight/preflight.ts';
import { preflightWorkflowId } from '../../contract/ids.ts';
import { openAnnouncements } from '../preflight/announcements.ts';
import { openMembers } from '../members.ts';
import { isSameJob } from '../../kube/jobs/kinds/index.ts';
import { isMaster } from '../../kube/pods/ranks.ts';
import { type PreflightPod, preflightPodOf, preflightSelector, workloadOf } from '../../kube/pods/preflight-pods.ts';
import { shareOf } from '../preflight/node-share.ts';
import { trimPod } from '../../kube/client/trim.ts';
import { type FilePlace, openPodTable, type PreflightPods } from '../preflight/pod-table.ts';
import { podsGoneMessage, testingMessage } from '../outbox/messages.ts';
import type { Workflows } from '../temporal.ts';
import { logDefects } from '../log-defects.ts';
import { follow, enqueue, type WatchContext } from './follow.ts';
import type { KnownJob } from './known-jobs.ts';
import { retryWhileLeading } from './retry-while-leading.ts';

type Pod = Parameters<typeof preflightPodOf>[0];

/** How long changes of a workload's pods are collected, ms. A restart deletes them before it creates others, and not all at once; reports wait for `testing`. */
const settleMs = { gone: 2000, testing: 500 } as const;
type Change = keyof typeof settleMs;

/** How long after the start of a leader term there may be pods that it never saw, ms. */
const freshMs = 5 * 60_000;

export interface PreflightsOptions extends WatchContext {
  /** The job that matches a whole owner reference, or its owner; undefined if there is none. */
  readonly job: (job: JobRef) => KnownJob | undefined;
  /** Accelerators of a node; undefined while it is not seen. */
  readonly acceleratorsOf: (node: string) => Amounts | undefined;
  readonly workflows: Pick<Workflows, 'runningPreflights'>;
  /** All namespaces if absent. */
  readonly namespaces?: readonly string[] | undefined;
}

export interface PreflightsWatch {
  readonly pods: PreflightPods;
  /** Whether all pods of the workload can be looked up: not before the first list, in an outage of the watch, or before its job is known. */
  isUpToDate(place: Pick<FilePlace, 'namespace' | 'workload'>): boolean;
  /** Whether settings let pods of this namespace test nodes. */
  acceptsNamespace(namespace: string): boolean;
  /** Whether pods may have gone recently that this leader never saw, because it has not led for long. */
  fresh(): boolean;
  /** How much of its node the pod and others of its workload that test there hold; undefined while the node is not seen. */
  share(pod: PreflightPod): NodeShare | undefined;
  /** Whether the workflow knows of the set that the pod belongs to. A terminating pod belongs to an earlier set: nothing is waited for. */
  isAnnounced(pod: PreflightPod): boolean;
  /** The job is known: pods whose rank depended on it may have one now. */
  lookAgain(job: KnownJob): void;
  /** A file of this pod was sent: if the pod is gone and was the last, its workflow must look again. */
  notified(pod: PreflightPod): void;
  /** Resolves when the workflows of workloads whose pods were deleted while no controller led were notified. */
  readonly settled: Promise<void>;
}

interface Unranked {
  readonly workload: Workload;
  /** Names of the pods. */
  readonly names: Set<string>;
}

export function watchPreflights(options: PreflightsOptions): PreflightsWatch {
  const since = performance.now();
  const table = openPodTable(() => performance.now());
  const announcements = openAnnouncements();
  const members = openMembers();
  /** By workflow: whether the job has a master, kept as long as it has pods: they may outlive it. */
  const led = new Map<string, boolean>();
  /** By workflow: pods that claim a job that is not known, or not yet. None of their reports counts. */
  const unranked = new Map<string, Unranked>();
  /** By change and workflow. */
  const settling = new Map<string, NodeJS.Timeout>();
  let isUpToDate = false;
  options.signal.addEventListener('abort', () => settling.forEach(clearTimeout), { once: true });

  const watched = follow<Pod>(options, {
    what: 'preflight pods',
    path: '/api/v1/pods',
    trim: trimPod,
    labelSelector: preflightSelector,
    onReachability: (state) => void (isUpToDate = state),
    onEvent({ type, object }) {
      const workload = workloadOf(object);
      if (!workload || !acceptsNamespace(workload.namespace)) return;
      const uid = object.metadata?.uid ?? '';
      members.put(preflightWorkflowId(workload), uid);
      see(object, workload);
      if (type !== 'deleted') return;
      members.leave(uid);
      table.leave(uid);
      stopsWaiting(object, workload);
      goes(uid, workload);
      settle(workload, 'gone');
    },
  });

  const acceptsNamespace = (namespace: string): boolean => options.namespaces?.includes(namespace) ?? true;

  function see(object: Pod, workload: Workload): void {
    const pod = preflightPodOf(object, masterOf(workload));
    if (pod) {
      table.put(pod);
      if (pod.terminating) goes(pod.uid, workload);
      else if (hasTested(pod) && !announcements.covers(preflightWorkflowId(workload), pod.uid))
        settle(workload, 'testing');
      return;
    }
    if (!workload.job || !preflightPodOf(object, true)) return;
    const waiting = unranked.get(preflightWorkflowId(workload)) ?? { workload, names: new Set() };
    unranked.set(preflightWorkflowId(workload), waiting);
    waiting.names.add(object.metadata?.name ?? '');
  }

  function stopsWaiting({ metadata }: Pod, workload: Workload): void {
    const id = preflightWorkflowId(workload);
    const names = unranked.get(id)?.names;
    names?.delete(metadata?.name ?? '');
    if (names?.size === 0) unranked.delete(id);
  }

  function masterOf(workload: Workload): boolean | undefined {
    const { job } = workload;
    if (!job) return undefined;
    const known = options.job(job);
    // In every kind with a master, the job succeeds when the master does.
    if (known) led.set(preflightWorkflowId(workload), isMaster(known.succeedsWith?.role));
    return led.get(preflightWorkflowId(workload));
  }

  function lookAgain({ ref }: KnownJob): void {
    const known = [...unranked].filter(([, { workload }]) => workload.job && isSameJob(workload.job, ref));
    for (const [id, { workload, names }] of known) {
      unranked.delete(id);
      for (const name of names) {
        const object = watched.get(workload.namespace, name);
        if (object && idOf(workloadOf(object)) === id) see(object, workload);
      }
      settle(workload, 'testing');
    }
  }

  const living = (id: string): readonly PreflightPod[] =>
    [...members.of(id)].flatMap((uid) => table.get(uid) ?? []).filter(({ terminating }) => !terminating);

  function share(pod: PreflightPod): NodeShare | undefined {
    const has = options.acceleratorsOf(pod.node ?? '');
    return has && shareOf(has, pod, table.beside(pod));
  }

  function goes(uid: string, workload: Workload): void {
    const id = preflightWorkflowId(workload);
    // Pods that have not tested yet may be the next set already.
    announcements.left(id, uid, () =>
      living(id)
        .filter(hasTested)
        .map((pod) => pod.uid),
    );
  }

  /** Schedules one check of the workload, however many of its pods change. */
  function settle(workload: Workload, change: Change): void {
    const key = `${change} ${preflightWorkflowId(workload)}`;
    if (settling.has(key) || options.signal.aborted) return;
    const look = change === 'gone' ? lookForLast : announce;
    const timer = setTimeout(() => {
      settling.delete(key);
      if (!options.signal.aborted)
        logDefects(options.log, 'a workload could not be checked', { workload }, () => look(workload));
    }, settleMs[change]);
    settling.set(key, timer.unref());
  }

  function lookForLast(workload: Workload): void {
    const id = preflightWorkflowId(workload);
    if (members.of(id).size > 0) return;
    led.delete(id);
    unranked.delete(id);
    announcements.end(id);
    options.log.info({ workload }, 'no pod of a workload with preflight is left');
    enqueue(options, podsGoneMessage(id));
  }

  /** Announces the present set, even if its tests are over: reports may be on their way, and a test may end before it is observed to run. */
  function announce(workload: Workload): void {
    const id = preflightWorkflowId(workload);
    // The oldest pod may be among those: there is another look when their job is known.
    if (unranked.has(id)) return;
    const pods = living(id);
    if (!pods.some((pod) => hasTested(pod) && !announcements.covers(id, pod.uid))) return;
    // The next leader must name the same pod, because another one would be another set.
    const [oldest] = pods.toSorted(oldestFirst);
    if (!oldest) return;
    const { uid, name, createdAt } = oldest;
    options.log.info({ workload, pod: name }, 'the pods of a workload test their nodes');
    const { accepted, lost } = announcements.begin(id, uid);
    options.outbox.send(testingMessage(workload, { name, uid, createdAt })).then(accepted, (error: unknown) => {
      options.log.debug({ err: error, to: id }, 'testing pods were not announced');
      lost();
      settle(workload, 'testing');
    });
  }

  /** The pods are listed first: a pod created in between belongs to a workflow that is not on the list. */
  async function notifyStrays(): Promise<void> {
    const running = await retryWhileLeading('list the running preflights', options, async () => {
      await watched.synced;
      return options.workflows.runningPreflights();
    });
    if (!running || options.signal.aborted) return;
    const left = new Set(watched.objects().flatMap((object) => idOf(workloadOf(object)) ?? []));
    for (const id of running) if (!left.has(id)) enqueue(options, podsGoneMessage(id));
  }

  return {
    pods: table,
    fresh: () => performance.now() - since < freshMs,
    isAnnounced: (pod) => pod.terminating || announcements.isNotified(preflightWorkflowId(pod.workload), pod.uid),
    isUpToDate: ({ namespace, workload: name }) =>
      isUpToDate &&
      ![...unranked.values()].some(({ workload }) => workload.namespace === namespace && workload.name === name),
    acceptsNamespace,
    lookAgain,
    share,
    notified(pod) {
      if (pod.terminating) settle(pod.workload, 'gone');
    },
    settled: notifyStrays(),
  };
}

const hasTested = ({ tests, testing, ended }: PreflightPod): boolean =>
  testing || ended !== undefined || tests.length > 0;

const oldestFirst = (a: PreflightPod, b: PreflightPod): number =>
  a.createdAt.localeCompare(b.createdAt) || a.rank - b.rank;

const idOf = (workload: Workload | undefined): string | undefined => workload && preflightWorkflowId(workload);
