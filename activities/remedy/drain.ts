/** Evicts other workloads from a node before it is repaired, and waits until they are gone. */

import { Context } from '@temporalio/activity';
import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { hookMarks } from '../../contract/ids.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import type { DrainRequest, DrainResult } from '../../contract/remedy/remedy.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { awaitObjects } from '../../kube/client/await-objects.ts';
import { observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { trimPod } from '../../kube/client/trim.ts';
import { topJob } from '../../kube/jobs/child-jobs.ts';
import { jobKey, jobsOfPods } from '../../kube/jobs/kinds/index.ts';
import { readJob } from '../../kube/jobs/jobs.ts';
import { evictPod } from '../../kube/pods/evict.ts';
import { isTerminating } from '../../kube/pods/pods.ts';
import type { Dependencies } from '../dependencies.ts';
import { heartbeatNow, reportInHeartbeats } from '../heartbeats.ts';

/** How often an eviction that a budget refuses is tried again, ms. */
const againMs = 5000;

/** Pods that a result names, and those that its sentence explains. */
const most = { named: 20, explained: 5 } as const;

export async function drainNode(dependencies: Dependencies, request: DrainRequest): Promise<DrainResult> {
  const { info, cancellationSignal: signal } = Context.current();
  const { kube, now } = dependencies;
  const clock = observationClock(now, info.scheduledTimestampMs, observedOf(info.heartbeatDetails));
  const deadline = info.scheduledTimestampMs + request.timeoutMs;
  const drain = new Drain(dependencies, evictedBefore(info.heartbeatDetails));
  if (dependencies.settings.remediation.mode !== 'run')
    return { outcome: 'blocked', because: 'remediation.mode is off', evicted: 0, remaining: [] };
  reportInHeartbeats(() => ({ evicted: drain.evicted, clock: clock.observed() }));
  const path = `spec.nodeName=${request.node}`;
  const ended = await awaitObjects(
    { kube, clock, deadline, signal },
    [
      { path: '/api/v1/nodes', fieldSelector: `metadata.name=${request.node}` },
      { path: '/api/v1/pods', fieldSelector: path, trim: (pod) => trimPod(pod as V1Pod) },
    ],
    (nodes = [], pods = []) => drain.look(request, nodes[0], pods as readonly V1Pod[]),
    againMs,
  );
  return ended ?? drain.blocked(`after ${formatDuration(request.timeoutMs)} `);
}

class Drain {
  evicted: number;
  readonly #dependencies: Dependencies;
  /** Why a pod is still there, by UID. */
  readonly #held = new Map<string, { readonly because: string; readonly forGood: boolean; readonly at: number }>();
  /** Whether kcover looks after the job, by job. */
  readonly #optedIn = new Map<string, boolean>();
  #remaining: readonly V1Pod[] = [];

  constructor(dependencies: Dependencies, evicted: number) {
    this.#dependencies = dependencies;
    this.evicted = evicted;
  }

  /** Evicts what may be evicted now. Undefined while it goes on. */
  async look(
    { node: name, uid }: DrainRequest,
    node: V1Node | undefined,
    pods: readonly V1Pod[],
  ): Promise<DrainResult | undefined> {
    const { evicted } = this;
    if (node?.metadata?.uid !== uid)
      return { outcome: 'gone', because: `node ${name} is gone or was replaced`, evicted, remaining: [] };
    try {
      this.#remaining = await this.#mustLeave(pods);
      await inParallel(this.#remaining, (pod) => this.#evict(pod), 8);
    } catch (error) {
      // The API server did not answer: the next look tries again.
      if (!(error instanceof KcoverError) || !error.transient) throw error;
      return undefined;
    }
    if (this.#remaining.length === 0)
      return { outcome: 'drained', because: `${this.evicted} pods were evicted`, evicted: this.evicted, remaining: [] };
    return this.#remaining.every((pod) => this.#held.get(uidOf(pod))?.forGood) ? this.blocked('') : undefined;
  }

  blocked(when: string): DrainResult {
    const names = this.#remaining.map(titleOf);
    const why = this.#remaining
      .slice(0, most.explained)
      .map((pod) => `${titleOf(pod)} (${this.#held.get(uidOf(pod))?.because ?? 'it is terminating'})`);
    const others = names.length > why.length ? ` and ${names.length - why.length} more` : '';
    return {
      outcome: 'blocked',
      because: `${when}these pods remain: ${why.join(', ')}${others}`,
      evicted: this.evicted,
      remaining: names.slice(0, most.named),
    };
  }

  async #evict(pod: V1Pod): Promise<void> {
    const { namespace = '', name = '' } = pod.metadata ?? {};
    const uid = uidOf(pod);
    const { now } = this.#dependencies;
    const held = this.#held.get(uid);
    if (isTerminating(pod)) return void this.#held.delete(uid);
    if (held && (held.forGood || now() < held.at + againMs)) return;
    const answer = await evictPod(this.#dependencies.kube, { namespace, name, uid }).catch((error: unknown) => {
      if (!(error instanceof KcoverError) || error.code === 'kube.unreachable') throw error;
      // Without the right, or while the server asks to slow down, the others may still be evicted.
      return { kind: 'held', because: error.because, forGood: !error.transient } as const;
    });
    if (answer.kind === 'held') {
      const { because, forGood } = answer;
      this.#held.set(uid, { because: foreignText(because, 300), forGood, at: now() });
      return;
    }
    // Until the watch shows it terminating, it is not evicted again.
    this.#held.set(uid, { because: 'it was evicted and is still there', forGood: false, at: now() });
    if (answer.kind === 'gone' || held?.because === 'it was evicted and is still there') return;
    this.evicted += 1;
    heartbeatNow();
  }

  async #mustLeave(pods: readonly V1Pod[]): Promise<readonly V1Pod[]> {
    const { namespace } = this.#dependencies.settings.remediation;
    const others = pods.filter((pod) => !staysOnNode(pod, namespace));
    const optedIn = await inParallel(others, (pod) => this.#isOptedIn(pod), 8);
    return others.filter((_, index) => !optedIn[index]);
  }

  /** kcover restarts the whole job elsewhere. */
  async #isOptedIn(pod: V1Pod): Promise<boolean> {
    const { kube, settings } = this.#dependencies;
    const [job] = jobsOfPods([pod]);
    if (!job) return false;
    const key = jobKey(job);
    const known = this.#optedIn.get(key);
    if (known !== undefined) return known;
    const view = await topJob(kube, job)
      .then((top) => readJob(kube, top, settings.quarantine.taint))
      .catch((error: unknown) => {
        // A label of a tenant may name no possible job.
        if (error instanceof KcoverError && !error.transient) return undefined;
        throw error;
      });
    const isOptedIn = view?.optedIn === true;
    this.#optedIn.set(key, isOptedIn);
    return isOptedIn;
  }
}

/** Pods that a drain leaves: those of DaemonSets, static pods, those that have ended, and those of hooks. Pure. */
export function staysOnNode({ metadata, status }: V1Pod, hooks: string): boolean {
  const isMirror = metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined;
  const ofDaemonSet = metadata?.ownerReferences?.some(
    ({ controller, kind, apiVersion }) =>
      controller === true && kind === 'DaemonSet' && apiVersion.split('/')[0] === 'apps',
  );
  const ofHook = metadata?.namespace === hooks && metadata.labels?.[hookMarks.operation] !== undefined;
  return isMirror || ofDaemonSet === true || ofHook || status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

const uidOf = ({ metadata }: V1Pod): string => metadata?.uid ?? '';
const titleOf = ({ metadata }: V1Pod): string => `${metadata?.namespace}/${metadata?.name}`;

function evictedBefore(details: unknown): number {
  const { evicted } = Object(details) as { readonly evicted?: unknown };
  return typeof evicted === 'number' ? evicted : 0;
}
