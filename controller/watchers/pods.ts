/** Watches the pods of jobs, and no others: a failure that counts reaches the job's workflow once. */

import type { Fault } from '../../contract/faults.ts';
import type { JobKind } from '../../contract/jobs.ts';
import { controllingJob, jobKinds } from '../../kube/job-kinds/index.ts';
import { podFailures } from '../../kube/pod-failures.ts';
import { failuresToTell, type PodSeen } from '../../policy/pod-watch.ts';
import { faultLetter } from '../letters.ts';
import { follow, post, type Watching } from './follow.ts';
import type { KnownJob } from './jobs.ts';

type Pod = Parameters<typeof podFailures>[0];

/** Labels that the pods of every job of a kind carry, and few others. */
const podsOf = {
  PyTorchJob: 'training.kubeflow.org/operator-name=pytorchjob-controller',
  Job: 'batch.kubernetes.io/controller-uid',
} as const satisfies Record<JobKind, string>;

interface RememberedPod extends PodSeen {
  readonly told: Set<string>;
}

/**
 * How long a new leader lets the agents speak first, ms. While nobody led, a node could not say what its pods died of,
 * and a restart that does not know of the node may land on it again. Longer than an agent's longest back-off.
 */
const firstWordMs = 10_000;
/** How often it looks whether they have, ms. */
const listenMs = 100;

export interface PodsOptions extends Watching {
  /** Whether the node's agent was heard since we lead. */
  readonly heard: (node: string) => boolean;
  readonly job: (uid: string) => KnownJob | undefined;
}

export interface PodsWatch {
  /** The job changed: failures that did not count before may count now. */
  lookAgain(job: KnownJob): void;
}

export function watchPods(options: PodsOptions): PodsWatch {
  // By UID of the job, then of the pod; only pods that have something to say.
  const remembered = new Map<string, Map<string, RememberedPod>>();
  const ledSince = performance.now();
  const listening = new Set<string>();

  const maySpeak = ({ node }: Fault) => node === undefined || options.heard(node) || performance.now() - ledSince > firstWordMs;

  /** Looks again soon; once for each job, however many of its pods wait. */
  function listen(uid: string): void {
    if (listening.has(uid)) return;
    listening.add(uid);
    setTimeout(() => {
      listening.delete(uid);
      const job = options.job(uid);
      if (job && !options.signal.aborted) lookAgain(job);
    }, listenMs);
  }

  function remember(owner: string, pod: PodSeen): void {
    const pods = remembered.get(owner) ?? new Map<string, RememberedPod>();
    const told = pods.get(pod.uid)?.told ?? new Set<string>();
    if (pod.failures.length === 0 && !pod.decidedSuccess && told.size === 0) return;
    pods.set(pod.uid, { ...pod, told });
    remembered.set(owner, pods);
  }

  function forget(owner: string, uid: string): void {
    const pods = remembered.get(owner);
    pods?.delete(uid);
    if (pods?.size === 0) remembered.delete(owner);
  }

  function lookAgain(job: KnownJob): void {
    const pods = [...(remembered.get(job.ref.uid)?.values() ?? [])];
    const told = new Set(pods.flatMap((pod) => [...pod.told]));
    for (const fault of failuresToTell(job, pods, told)) {
      if (!maySpeak(fault)) {
        listen(job.ref.uid);
        continue;
      }
      const memory = pods.find((pod) => pod.uid === fault.pod?.uid)?.told;
      memory?.add(fault.id);
      options.metrics.podFaults.inc({ code: fault.code });
      options.log.info({ job: job.ref, fault }, 'a pod of the job failed');
      post(options, faultLetter({ kind: 'job', job: job.ref }, fault), () => memory?.delete(fault.id));
    }
  }

  for (const { kind } of Object.values(jobKinds)) {
    follow<Pod>(options, {
      what: `pods of ${kind}`,
      path: '/api/v1/pods',
      labelSelector: podsOf[kind],
      onEvent({ type, object }) {
        const owner = controllingJob(object.metadata?.namespace ?? '', object.metadata?.ownerReferences);
        if (owner?.kind !== kind) return;
        if (type === 'deleted') return forget(owner.uid, object.metadata?.uid ?? '');
        remember(owner.uid, seenOf(object));
        const job = options.job(owner.uid);
        if (job) lookAgain(job);
      },
    });
  }
  return { lookAgain };
}

/** A master's success is the job's; where there is none, all have to succeed. */
const seenOf = (pod: Pod): PodSeen => ({
  uid: pod.metadata?.uid ?? '',
  failures: podFailures(pod),
  decidedSuccess: pod.status?.phase === 'Succeeded' && pod.metadata?.labels?.['training.kubeflow.org/replica-type']?.toLowerCase() === 'master',
});
