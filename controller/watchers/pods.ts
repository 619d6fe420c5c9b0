/** Watches the pods of jobs, and no others: a failure that counts reaches the job's workflow once. */

import type { Fault } from '../../contract/faults.ts';
import type { JobRef } from '../../contract/jobs.ts';
import { type JobKindEntry, jobKey, jobKinds, jobOfPod } from '../../kube/job-kinds/index.ts';
import { podFailures } from '../../kube/pod-failures.ts';
import { trimPod } from '../../kube/trim.ts';
import type { WatchEvent } from '../../kube/watch.ts';
import { failuresToTell, type PodSeen, whySilent } from '../../policy/pod-watch.ts';
import { faultLetter } from '../letters.ts';
import { survive } from '../survive.ts';
import { follow, post, type Watching } from './follow.ts';
import type { KnownJob } from './known-jobs.ts';
import { pause } from './persist.ts';

type Pod = Parameters<typeof podFailures>[0];

interface RememberedPod extends PodSeen {
  readonly told: Set<string>;
}

/**
 * How long a new leader lets the agents speak first, ms. While nobody led, a node could not say what its pods died of,
 * and a restart that does not know of the node may land on it again. Longer than an agent's longest back-off.
 */
const firstWordMs = 10_000;
/** How often it looks whether an agent that was silent is heard again, ms. */
const sightMs = 1000;
/** Longer than any job waits for it, ms. */
const patienceMs = 10 * 60_000;
/** How often it looks whether they have, ms. */
const listenMs = 100;

export interface PodsOptions extends Watching {
  /** Whether the node's agent was heard since this time (monotonic, ms), or since we lead. */
  readonly heard: (node: string, since?: number) => boolean;
  /** Why the node could not have said what its pods died of; undefined while its agent can be heard. */
  readonly silence: (node: string) => string | undefined;
  readonly job: (job: JobRef) => KnownJob | undefined;
  /** Every change of a pod of a job. */
  readonly onPod: (event: WatchEvent<Pod>) => void;
}

export interface PodsWatch {
  /** Resolves when the pods of the jobs of every kind were listed. */
  readonly synced: Promise<unknown>;
  /** Whether what is known of the pods of jobs is up to date. */
  sees(): boolean;
  /** The job changed, or the one that made it: failures of the pods that it controls may count now. */
  lookAgain(job: JobRef): void;
}

export function watchPods(options: PodsOptions): PodsWatch {
  // By the job that controls it, as it claims, then by UID; only pods that have something to say.
  const remembered = new Map<string, Map<string, RememberedPod>>();
  const ledSince = performance.now();
  const listening = new Set<string>();
  /** Ids of faults that were told while their agent was silent. */
  const unheard = new Set<string>();

  const maySpeak = ({ node }: Fault) => node === undefined || options.heard(node) || performance.now() - ledSince > firstWordMs;

  /** Looks again soon; once for each job, however many of its pods wait. */
  function listen(owner: JobRef): void {
    const key = jobKey(owner);
    if (listening.has(key)) return;
    listening.add(key);
    setTimeout(() => {
      listening.delete(key);
      if (!options.signal.aborted) survive(options.log, 'pods could not be looked at again', { job: owner }, () => lookAgain(owner));
    }, listenMs);
  }

  /** The agent may come back before the job has waited long enough: then the failure is told again, as one that can be judged. */
  async function tellOnceHeard(owner: JobRef, fault: Fault, node: string): Promise<void> {
    if (unheard.has(fault.id)) return;
    unheard.add(fault.id);
    const since = performance.now();
    while (!options.signal.aborted && !options.heard(node, since) && performance.now() - since < patienceMs) await pause(sightMs, options.signal);
    unheard.delete(fault.id);
    const job = options.job(owner);
    if (!job || !options.heard(node, since) || whySilent(job, podsOf(owner)) !== undefined) return;
    post(options, faultLetter({ kind: 'job', job: job.ref }, fault));
  }

  const podsOf = (owner: JobRef): readonly RememberedPod[] => [...(remembered.get(jobKey(owner))?.values() ?? [])];

  function remember(owner: JobRef, pod: PodSeen): void {
    const pods = remembered.get(jobKey(owner)) ?? new Map<string, RememberedPod>();
    const told = pods.get(pod.uid)?.told ?? new Set<string>();
    if (pod.failures.length === 0 && !pod.succeededAs && told.size === 0) return;
    pods.set(pod.uid, { ...pod, told });
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
    const told = new Set(pods.flatMap((pod) => [...pod.told]));
    for (const fault of failuresToTell(job, pods, told)) {
      if (!maySpeak(fault)) {
        listen(owner);
        continue;
      }
      const memory = pods.find((pod) => pod.uid === fault.pod?.uid)?.told;
      memory?.add(fault.id);
      options.metrics.podFaults.inc({ code: fault.code });
      const blind = fault.node === undefined ? undefined : options.silence(fault.node);
      options.log.info({ job: job.ref, fault, blind }, 'a pod of the job failed');
      post(options, faultLetter({ kind: 'job', job: job.ref }, { ...fault, ...(blind !== undefined && { blind }) }), () => memory?.delete(fault.id));
      if (blind !== undefined)
        tellOnceHeard(owner, fault, fault.node ?? '').catch((error: unknown) => options.log.error({ err: error, fault }, 'defect: not told again'));
    }
  }

  // Pods of what a job made are seen with the kind that made them.
  const kinds = Object.values<JobKindEntry>(jobKinds).filter(({ controlsNoPods }) => !controlsNoPods);
  const unseen = new Set(kinds);
  const watches = kinds.map((entry) =>
    follow<Pod>(options, {
      what: `pods of ${entry.kind}`,
      onSight: (sees) => void (sees ? unseen.delete(entry) : unseen.add(entry)),
      path: '/api/v1/pods',
      trim: trimPod,
      labelSelector: entry.podsOfKind,
      onEvent(event) {
        const { type, object } = event;
        const owner = jobOfPod(object);
        if (owner?.kind !== entry.kind) return;
        options.onPod(event);
        if (type === 'deleted') return forget(owner, object.metadata?.uid ?? '');
        remember(owner, seenOf(object, entry));
        lookAgain(owner);
      },
    }),
  );
  return { lookAgain, sees: () => unseen.size === 0, synced: Promise.all(watches.map((watch) => watch.synced)) };
}

function seenOf(pod: Pod, entry: JobKindEntry): PodSeen {
  const succeededAs = pod.status?.phase === 'Succeeded' ? entry.roleOf(pod.metadata?.labels ?? {}) : undefined;
  return { uid: pod.metadata?.uid ?? '', failures: podFailures(pod, entry), ...(succeededAs && { succeededAs }) };
}
