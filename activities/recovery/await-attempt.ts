/** Waits until a whole new attempt runs, on no quarantined node. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { Context } from '@temporalio/activity';
import { KcoverError } from '../../contract/errors.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import type { AwaitRequest, AwaitResult } from '../../contract/recovery/recovery.ts';
import { attemptProgress, whyEnded } from '../../kube/jobs/attempt-progress.ts';
import { awaitAttemptOf, notObserved } from '../../kube/jobs/attempts.ts';
import { quarantineTaint, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import { belongsTo, deletePod } from '../../kube/pods/pods.ts';
import type { Dependencies } from '../dependencies.ts';
import { reportInHeartbeats } from '../heartbeats.ts';
import { misplacedPods } from './misplaced-pods.ts';

/** Pods that are named in history. */
const mostPods = 200;

/** Pause before a failed look is repeated, ms. */
const pauseMs = 1000;

/** The API server does not answer, or not yet. Any other error is an answer, so the deadline counts on. */
const isUnseen = ({ code }: KcoverError): boolean => code === 'kube.unreachable' || code === 'kube.throttled';

export async function awaitAttempt(dependencies: Dependencies, request: AwaitRequest): Promise<AwaitResult> {
  const { info, cancellationSignal: signal } = Context.current();
  const { kube, settings, now, log } = dependencies;
  const misplaced = misplacedPods({
    known: movedOf(info.heartbeatDetails),
    remove(pod) {
      log.info(
        { job: request.job, pod: pod.name, uid: pod.uid, node: pod.node },
        'pod landed on a quarantined node: deleted alone',
      );
      return deletePod(kube, request.job.namespace, pod);
    },
    pause: (ms) => sleep(ms, undefined, { signal }),
  });
  const clock = observationClock(now, info.scheduledTimestampMs, observedOf(info.heartbeatDetails));
  const nodes = new KnownNodes(dependencies);
  const [old, remaining] = [new Set(request.old), new Set(request.remaining)];
  const stopped = request.stoppedBy && { stoppedBy: request.stoppedBy };
  let because = 'the job was not observed';

  const look = async (job: JobView | undefined, pods: readonly V1Pod[]): Promise<AwaitResult | undefined> => {
    const end = whyEnded(job, request.stoppedBy);
    if (end) return end;
    await nodes.learn(
      pods
        .filter((pod) => job && belongsTo(job.ref, pod) && !old.has(pod.metadata?.uid ?? ''))
        .flatMap((pod) => pod.spec?.nodeName ?? []),
    );
    const seen = attemptProgress({ job, pods, old, ...stopped, remaining, quarantined: nodes.quarantined });
    if (seen.kind === 'ended') return seen;
    if (seen.kind === 'waiting') {
      because = seen.because;
      if (job && mayMove(job)) await misplaced.move(seen.misplaced);
      return undefined;
    }
    // A taint may have come after its pods: the nodes are read last.
    if (await nodes.refresh(seen.pods.flatMap((pod) => pod.node ?? []))) return look(job, pods);
    const { startedAt, wholeSince } = seen;
    const many = seen.pods.length > mostPods && { of: seen.pods.length };
    return {
      kind: 'running',
      at: new Date(now()).toISOString(),
      pods: seen.pods.slice(0, mostPods),
      ...many,
      startedAt,
      wholeSince,
      misplaced: misplaced.moved.size,
    };
  };

  // A later try must know which pods were moved.
  reportInHeartbeats(() => ({ moved: [...misplaced.moved], clock: clock.observed() }));
  const deadline = info.scheduledTimestampMs + request.deadlineMs;
  const lookAgain = async (error: unknown) => {
    if (!(error instanceof KcoverError) || !error.transient) throw error;
    log.warn(
      { job: request.job, code: error.code, because: error.because },
      'a look at the new attempt could not be finished',
    );
    await sleep(error.retryAfterMs ?? pauseMs, undefined, { signal });
    if (isUnseen(error)) return notObserved;
    because = error.because;
    return undefined;
  };
  const observe = (job: JobView | undefined, pods: readonly V1Pod[]) => look(job, pods).catch(lookAgain);
  const found = await awaitAttemptOf(
    { kube, job: request.job, clock, deadline, signal },
    settings.quarantine.taint,
    observe,
  );
  return found ?? { kind: 'overdue', because };
}

const movedOf = (details: unknown): Set<string> =>
  new Set(
    typeof details === 'object' && details !== null && 'moved' in details && Array.isArray(details.moved)
      ? details.moved.filter((uid) => typeof uid === 'string')
      : [],
  );

/** Not where that would fail the job, and not where its pods tolerate the taint: the replacement would land there again. */
const mayMove = ({ toleratesQuarantine, canStopBy }: JobView): boolean =>
  !toleratesQuarantine && canStopBy.includes('delete-collection');

/** Nodes that pods landed on: each is read when it first appears, at every look while it is quarantined, and once more at the end. */
class KnownNodes {
  readonly #dependencies: Dependencies;
  readonly #met = new Set<string>();
  readonly quarantined = new Set<string>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  async learn(names: readonly string[]): Promise<void> {
    await this.#read([...new Set(names)].filter((name) => !this.#met.has(name) || this.quarantined.has(name)));
  }

  /** True when one of them was quarantined since it first appeared. */
  async refresh(names: readonly string[]): Promise<boolean> {
    const before = this.quarantined.size;
    await this.#read([...new Set(names)]);
    return this.quarantined.size > before;
  }

  async #read(names: readonly string[]): Promise<void> {
    const { kube, settings } = this.#dependencies;
    await inParallel(names, async (name) => {
      const node = await readNode(kube, name);
      if (node && quarantineTaint(node, settings.quarantine.taint)) this.quarantined.add(name);
      else this.quarantined.delete(name);
      this.#met.add(name);
    });
  }
}
