/** Watches the pods that test their node: who wrote a report is looked up here. Workflows hear that a set of them tests, and that none is left. */

import type { JobRef } from '../../contract/jobs.ts';
import type { Workload } from '../../contract/preflight.ts';
import { preflightWorkflowId } from '../../contract/ids.ts';
import { isMaster, type PreflightPod, preflightPodOf, preflightSelector, workloadOf } from '../../kube/preflight-pods.ts';
import { type FilePlace, openPodTable, type PreflightPods } from '../preflight/pod-table.ts';
import { podsGoneLetter, testingLetter } from '../letters.ts';
import type { Workflows } from '../temporal.ts';
import { follow, post, type Watching } from './follow.ts';
import type { KnownJob } from './jobs.ts';
import { persist } from './persist.ts';

type Pod = Parameters<typeof preflightPodOf>[0];

/** A restart deletes the pods of a workload before it creates others, and not all of them at once, ms. */
const settleMs = 2000;

export interface PreflightsOptions extends Watching {
  readonly job: (uid: string) => KnownJob | undefined;
  readonly workflows: Pick<Workflows, 'runningPreflights'>;
}

export interface PreflightsWatch {
  readonly pods: PreflightPods;
  /** Whether all pods of the workload can be looked up: not before the first list, in an outage of the watch, and before its job is known. */
  sees(place: Pick<FilePlace, 'namespace' | 'workload'>): boolean;
  /** The job is known: pods whose rank depended on it may have one now. */
  lookAgain(job: KnownJob): void;
  /** A file of this pod was told: where it went and was the last, its workflow must look again. */
  told(pod: PreflightPod): void;
  /** Resolves when the workflows of workloads whose pods went while nobody watched were told. */
  readonly settled: Promise<void>;
}

interface Settling {
  readonly timer: NodeJS.Timeout;
  /** Whether a pod was seen to test. */
  testing: boolean;
}

interface Unranked {
  readonly workload: Workload;
  /** Of the pods. */
  readonly names: Set<string>;
}

export function watchPreflights(options: PreflightsOptions): PreflightsWatch {
  const table = openPodTable(() => performance.now());
  /** Whether a job has a master, for as long as it has pods: they may outlive it. */
  const led = new Map<string, boolean>();
  /** Pods whose rank depends on a job that is not known yet, by its UID. */
  const unranked = new Map<string, Unranked>();
  const settling = new Map<string, Settling>();
  /** The pod that stands for the set that its workflow was told of, by UID. */
  const announced = new Map<string, string>();
  let sees = false;
  options.signal.addEventListener('abort', () => settling.forEach(({ timer }) => clearTimeout(timer)), { once: true });

  const watched = follow<Pod>(options, {
    what: 'preflight pods',
    path: '/api/v1/pods',
    labelSelector: preflightSelector,
    onSight: (state) => void (sees = state),
    onEvent({ type, object }) {
      const workload = workloadOf(object);
      if (!workload) return;
      see(object, workload);
      if (type !== 'deleted') return;
      table.leave(object.metadata?.uid ?? '');
      settle(workload, false);
    },
  });

  function see(object: Pod, workload: Workload): void {
    const pod = preflightPodOf(object, masterOf(workload.job));
    if (pod) {
      table.put(pod);
      if (pod.testing && !pod.leaving && !isAnnounced(workload)) settle(workload, true);
      return;
    }
    if (!workload.job || !preflightPodOf(object, true)) return;
    const waiting = unranked.get(workload.job.uid) ?? { workload, names: new Set() };
    unranked.set(workload.job.uid, waiting);
    waiting.names.add(object.metadata?.name ?? '');
  }

  function masterOf(job: JobRef | undefined): boolean | undefined {
    if (!job) return undefined;
    const known = options.job(job.uid);
    // Of every kind with a master it is the master whose success is the job's.
    if (known) led.set(job.uid, isMaster(known.succeedsWith?.role));
    return led.get(job.uid);
  }

  function lookAgain({ ref }: KnownJob): void {
    const waiting = unranked.get(ref.uid);
    if (!waiting) return;
    unranked.delete(ref.uid);
    for (const name of waiting.names) {
      const object = watched.get(ref.namespace, name);
      const workload = object && workloadOf(object);
      if (object && workload?.job?.uid === ref.uid) see(object, workload);
    }
  }

  function isAnnounced(workload: Workload): boolean {
    const pod = table.get(announced.get(preflightWorkflowId(workload)) ?? '');
    return pod !== undefined && !pod.leaving;
  }

  /** Looks soon, once however many of its pods change. */
  function settle(workload: Workload, testing: boolean): void {
    const id = preflightWorkflowId(workload);
    const under = settling.get(id);
    if (under) {
      under.testing ||= testing;
      return;
    }
    const timer = setTimeout(() => {
      const seen = settling.get(id);
      settling.delete(id);
      if (!options.signal.aborted) look(workload, seen?.testing ?? false);
    }, settleMs);
    settling.set(id, { timer: timer.unref(), testing });
  }

  function look(workload: Workload, testing: boolean): void {
    const id = preflightWorkflowId(workload);
    const left = watched.objects().filter((object) => idOf(workloadOf(object)) === id);
    if (left.length === 0) {
      led.delete(workload.uid);
      unranked.delete(workload.uid);
      announced.delete(id);
      options.log.info({ workload }, 'no pod of a workload with preflight is left');
      return post(options, podsGoneLetter(id));
    }
    if (!testing || isAnnounced(workload)) return;
    // The next leader shall name the same pod, for another one would be another set.
    const [oldest] = left
      .flatMap(({ metadata }) => table.get(metadata?.uid ?? '') ?? [])
      .filter(({ leaving }) => !leaving)
      .toSorted(oldestFirst);
    if (!oldest) return;
    const { uid, name } = oldest;
    announced.set(id, uid);
    options.log.info({ workload, pod: name }, 'the pods of a workload test their nodes');
    post(options, testingLetter(workload, { name, uid }), () => announced.delete(id));
  }

  /** The pods come first: one that is created in between belongs to a workflow that is not on the list. */
  async function tellStrays(): Promise<void> {
    const running = await persist('list the running preflights', options, async () => {
      await watched.synced;
      return options.workflows.runningPreflights();
    });
    if (!running || options.signal.aborted) return;
    const left = new Set(watched.objects().flatMap((object) => idOf(workloadOf(object)) ?? []));
    for (const id of running) if (!left.has(id)) post(options, podsGoneLetter(id));
  }

  return {
    pods: table,
    sees: ({ namespace, workload: name }) => sees && ![...unranked.values()].some(({ workload }) => workload.namespace === namespace && workload.name === name),
    lookAgain,
    told(pod) {
      if (pod.leaving) settle(pod.workload, false);
    },
    settled: tellStrays(),
  };
}

const oldestFirst = (a: PreflightPod, b: PreflightPod): number => a.createdAt.localeCompare(b.createdAt) || a.rank - b.rank;

const idOf = (workload: Workload | undefined): string | undefined => workload && preflightWorkflowId(workload);
