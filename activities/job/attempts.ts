/** Observes an attempt, stops it, and waits for the next one. */

import type { Activities } from '../../contract/wire/activities.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';
import { readJob } from '../../kube/jobs/jobs.ts';
import { nodeView, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { podsOfJob } from '../../kube/pods/pods.ts';
import { decides } from '../../policy/incident/pod-watch.ts';
import { attemptInShort, digestOf } from '../recovery/attempt-in-short.ts';
import { awaitAttempt } from '../recovery/await-attempt.ts';
import type { Dependencies } from '../dependencies.ts';
import { queryNode } from '../node/queries.ts';
import { captureEvidence } from '../evidence/evidence.ts';
import { pauseOfCluster } from '../pause.ts';
import { observeOrElse } from '../reachability.ts';
import { stopAttempt } from '../recovery/stop-attempt.ts';
import { verifyProgress } from '../recovery/verify-progress.ts';

type Attempts = Pick<
  Activities,
  'observeAttempt' | 'listPods' | 'stopAttempt' | 'awaitAttempt' | 'verifyProgress' | 'captureEvidence'
>;

export function attemptActivities(dependencies: Dependencies): Attempts {
  const { kube, settings, temporal } = dependencies;
  const { taint } = settings.quarantine;

  /** The fault of a pod may arrive before that of its node: whether the node's workflow is still about to decide. */
  async function undecidedNode(node: string): Promise<AttemptFacts['undecided'][number] | undefined> {
    try {
      const status = await queryNode<NodeStatus>(temporal(), node, statusQuery);
      return status?.phase === 'deciding' ? { node, because: status.because } : undefined;
    } catch {
      return { node, because: 'its workflow does not answer' };
    }
  }

  async function observeAttempt({
    job: ref,
    nodes: names,
    pods: uids = [],
  }: Parameters<Attempts['observeAttempt']>[0]): Promise<AttemptFacts> {
    const at = dependencies.now();
    const [job, { present, terminating, oldestAt, succeeded }, nodes, paused] = await Promise.all([
      readJob(kube, ref, taint),
      podsOfJob(kube, ref),
      inParallel(names, (name) => readNode(kube, name)),
      pauseOfCluster(dependencies),
    ]);
    const views = nodes.flatMap((node) => (node ? [nodeView(node, taint)] : []));
    const open = await inParallel(
      views.filter((node) => !node.taint).map((node) => node.name),
      undecidedNode,
    );
    const decided = job && succeeded.find((pod) => decides(job, pod));
    return {
      ...(job && { job }),
      ...(decided && { succeeded: decided.name }),
      ...attemptInShort({ pods: present, terminating }, { nodes: names, pods: uids }),
      ...(oldestAt !== undefined && { oldestPodAt: oldestAt }),
      nodes: views,
      undecided: open.flatMap((one) => one ?? []),
      ...(paused && { paused }),
      at,
    };
  }

  return {
    observeAttempt: (request) =>
      observeOrElse(
        () => observeAttempt(request),
        (because) => ({ pods: [], nodes: [], undecided: [], unobservable: because }),
      ),
    listPods: ({ job }) =>
      observeOrElse(
        async () => {
          const { present: pods, terminating } = await podsOfJob(kube, job);
          return { pods, terminating, digest: digestOf(pods) };
        },
        (because) => ({ pods: [], terminating: [], digest: '', unobservable: because }),
      ),
    stopAttempt: (request) => stopAttempt(dependencies, request),
    awaitAttempt: (request) => awaitAttempt(dependencies, request),
    verifyProgress: (request) => verifyProgress(dependencies, request),
    captureEvidence: async (request) => ({ ...(await captureEvidence(dependencies, request)), at: dependencies.now() }),
  };
}
