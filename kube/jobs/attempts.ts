/** Waits for the pods of a job: until the old ones are gone, until the new ones exist. */

import type { KubernetesObject, V1Pod } from '@kubernetes/client-node';
import type { AttemptPod, JobRef, JobView } from '../../contract/job/jobs.ts';
import { AsyncEvent } from '../../contract/async-event.ts';
import { notifyWhen, type ObjectWait, waitFor } from '../client/await-objects.ts';
import { jobKinds, namespacePath } from './kinds/index.ts';
import type { ObservationClock } from '../client/observation-clock.ts';
import type { QuarantineTaint } from '../nodes/nodes.ts';
import { attemptPod, belongsTo, isTerminating, podsPath } from '../pods/pods.ts';
import { type Watched, type WatchEvent, watchResource } from '../client/watch.ts';

export interface AttemptWait extends ObjectWait {
  readonly job: JobRef;
}

/** Retry interval after a partial observation, ms. */
const againMs = 1000;

export interface GoneOptions {
  /** Called after every change with the present pods; the next observation waits for it. */
  readonly meanwhile?: (present: readonly V1Pod[]) => Promise<void>;
  /** Whether the job's controller creates no pods now: then every other pod of the job belongs to the same attempt, and is waited for too. */
  readonly isHeld?: () => Promise<boolean>;
}

export interface Gone {
  /** Names of those that are still there at the deadline. */
  readonly left: readonly string[];
  /** Pods of the attempt that were not named, because its controller created them after the pods were listed. */
  readonly late: readonly AttemptPod[];
}

/** Waits until the pods are observed gone. Where a kind keeps pods that ended, an ended one counts as gone: its processes are. */
export async function awaitGone(
  wait: AttemptWait,
  pods: readonly AttemptPod[],
  { meanwhile, isHeld }: GoneOptions = {},
): Promise<Gone> {
  const named = new Set(pods.map(({ uid }) => uid));
  const late = new Map<string, AttemptPod>();
  const seen = await watching(wait, undefined, async (watches) => {
    const left = () => [...pods, ...late.values()].filter((pod) => watches.present.has(pod.uid)).map((pod) => pod.name);
    const gone = await watches.until(async () => {
      const others = new Set([...watches.present].filter((uid) => !named.has(uid)));
      const held = others.size > 0 && (await isHeld?.()) === true;
      if (held) for (const pod of watches.pods().map(attemptPod)) if (others.has(pod.uid)) late.set(pod.uid, pod);
      if (!held && pods.every(({ uid }) => !watches.present.has(uid))) return [];
      await meanwhile?.(watches.pods());
      return undefined;
    });
    return gone ?? left();
  });
  return { left: seen ?? pods.map((pod) => pod.name), late: [...late.values()] };
}

/** Waits until each of the pods is gone or terminating, or the deadline, and returns those that still exist. */
export async function awaitTerminating(wait: AttemptWait, pods: readonly AttemptPod[]): Promise<readonly AttemptPod[]> {
  const seen = await watching(wait, undefined, async (watches) => {
    const there = () => pods.filter(({ uid }) => watches.present.has(uid));
    await watches.until(() => {
      const terminating = new Set(
        watches.pods().flatMap((pod) => (isTerminating(pod) ? (pod.metadata?.uid ?? []) : [])),
      );
      return there().every(({ uid }) => terminating.has(uid)) || undefined;
    });
    return there();
  });
  return seen ?? pods;
}

/** Answer of a partial observation: no deadline passes on it. */
export const notObserved = Symbol('not observed');
type Probe<T> = () => ProbeResult<T> | Promise<ProbeResult<T>>;
type ProbeResult<T> = T | typeof notObserved | undefined;

/** Calls `look` with job and pods after every change until it answers; undefined at the deadline. */
export function awaitAttemptOf<T>(
  wait: AttemptWait,
  taint: QuarantineTaint,
  look: (job: JobView | undefined, pods: readonly V1Pod[]) => Promise<ProbeResult<T>>,
): Promise<T | undefined> {
  return watching(wait, taint, (watches) => watches.until(() => look(watches.job(), watches.pods())));
}

/** The observed state, once everything was listed. */
interface Watches {
  /** UIDs of pods of the job that exist. */
  readonly present: ReadonlySet<string>;
  readonly pods: () => readonly V1Pod[];
  readonly job: () => JobView | undefined;
  readonly until: <T>(look: Probe<T>) => Promise<T | undefined>;
}

/** Opens the watches, runs `use`, and closes them; undefined when listing did not succeed before the deadline. */
async function watching<T>(
  wait: AttemptWait,
  taint: QuarantineTaint | undefined,
  use: (watches: Watches) => Promise<T>,
): Promise<T | undefined> {
  const { kube, job, clock } = wait;
  const entry = jobKinds[job.kind];
  const closing = new AbortController();
  const signal = AbortSignal.any([wait.signal, closing.signal]);
  const changed = new AsyncEvent();
  const reachability = trackReachability(clock);
  const onState = (state: 'watching' | 'broken') => {
    reachability.watches(state === 'watching');
    changed.notify();
  };
  const present = new Set<string>();
  const onPod = ({ type, object }: WatchEvent<V1Pod>) => {
    const uid = object.metadata?.uid ?? '';
    if (type !== 'deleted' && belongsTo(job, object)) present.add(uid);
    else present.delete(uid);
    changed.notify();
  };
  const pods = watchResource<V1Pod>({
    kube,
    path: podsPath(job.namespace),
    labelSelector: entry.podSelector(job),
    signal,
    onEvent: onPod,
    onState,
  });
  const jobs =
    taint &&
    watchResource<KubernetesObject>({
      kube,
      path: namespacePath(entry, job.namespace),
      fieldSelector: `metadata.name=${job.name}`,
      signal,
      onEvent: () => changed.notify(),
    });
  try {
    // Until everything is listed there is no answer.
    const listed = notifyWhen(Promise.all([pods.synced, jobs?.synced]), changed);
    if (!(await untilFound(wait, changed, () => listed.is || notObserved))) return undefined;
    return await use({
      present,
      pods: () => pods.objects(),
      job: () => taint && viewIn(jobs, job, taint),
      until: (look) =>
        untilFound(wait, changed, async () => {
          const seen = await look();
          reachability.looks(seen !== notObserved);
          return seen;
        }),
    });
  } finally {
    closing.abort();
  }
}

/** The job as last observed; undefined when it, or this UID of it, is gone. */
export function viewIn(
  jobs: Watched<KubernetesObject> | undefined,
  job: JobRef,
  taint: QuarantineTaint,
): JobView | undefined {
  const object = jobs?.get(job.namespace, job.name);
  return object?.metadata?.uid === job.uid ? jobKinds[job.kind].view(object, taint) : undefined;
}

/** The clock runs only while the watch is open and observations are complete. */
function trackReachability(clock: ObservationClock) {
  let [isOpen, isWhole] = [false, true];
  const update = () => (isOpen && isWhole ? clock.regained() : clock.lost());
  return {
    watches(now: boolean): void {
      isOpen = now;
      update();
    },
    looks(now: boolean): void {
      if (now === isWhole) return;
      isWhole = now;
      update();
    },
  };
}

/** The last observation before the deadline is complete, even where a retry begins after the deadline; unless the clock has reached its limit of lost time. */
async function untilFound<T>(wait: AttemptWait, changed: AsyncEvent, look: Probe<T>): Promise<T | undefined> {
  for (;;) {
    wait.signal.throwIfAborted();
    const found = await look();
    if (found !== undefined && found !== notObserved) return found;
    const late = Math.max(wait.deadline, wait.clock.lateFrom);
    const isObserved = found !== notObserved || wait.clock.isRunning;
    if (isObserved && wait.clock.time() >= late) return undefined;
    await changed.wait(found === notObserved ? againMs : waitFor(wait, late), wait.signal);
  }
}
