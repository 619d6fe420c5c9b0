/** What runs only while this controller leads: the outbox and every watcher. */

import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { Logger } from 'pino';
import type { Kube } from '../../kube/client/connection.ts';
import type { QuarantineTaint } from '../../kube/nodes/nodes.ts';
import { writeProgress, writeRestartAnswers } from '../../kube/jobs/jobs.ts';
import type { PreflightPod } from '../../kube/pods/preflight-pods.ts';
import { type AgentLiveness, whyUnobservable } from '../../policy/node/agent-liveness.ts';
import { type Outbox, openOutbox, type Sender } from '../outbox/outbox.ts';
import { type Call, faultMessage } from '../outbox/messages.ts';
import { watchAscend } from '../ascend/watch.ts';
import { type LokiWatchOptions, watchLoki } from '../loki/watch.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { ProgressTaker } from '../progress/endpoint.ts';
import { watchProgress } from '../progress/watch.ts';
import { beginRounds, type Rounds } from '../preflight/rounds/polls.ts';
import type { RoundPod } from '../preflight/rounds/run.ts';
import type { Workflows } from '../temporal.ts';
import { enqueue } from '../watch/follow.ts';
import { countOpenIncidents } from '../watch/open-incidents.ts';
import { type NodeNotices, openNodeNotices } from '../watch/node-notices.ts';
import { watchJobs } from '../watch/jobs.ts';
import type { KnownJob } from '../watch/known-jobs.ts';
import { type NodesWatch, watchNodes } from '../watch/nodes.ts';
import { watchPodDevices } from '../watch/pod-devices.ts';
import { watchPods } from '../watch/pods.ts';
import { type PreflightsWatch, watchPreflights } from '../watch/preflights.ts';

export interface LeaderTermOptions {
  readonly kube: Kube;
  readonly taint: QuarantineTaint;
  readonly nodes: ControllerSettings['nodes'];
  readonly supervision: ControllerSettings['jobs'];
  readonly rounds: ControllerSettings['preflight'];
  readonly progress: ControllerSettings['progress'];
  readonly loki: Pick<LokiWatchOptions, 'settings' | 'limits' | 'namespace'>;
  readonly sender: Sender;
  readonly workflows: Workflows;
  /** When the agent of a node was last seen, and after which time it counts as silent; monotonic, ms. */
  readonly lastSeenAt: (node: string) => number | undefined;
  readonly silentMs: number;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}

export interface LeaderTerm {
  readonly outbox: Outbox;
  readonly nodes: NodesWatch;
  readonly preflights: PreflightsWatch;
  readonly rounds: Rounds;
  readonly progress: ProgressTaker;
  readonly noticeOf: NodeNotices;
  /** Liveness of the agents on nodes with accelerators. */
  liveness(): AgentLiveness;
  /** Nothing is sent after this. Safe to repeat. */
  end(): void;
}

/** Starts what only the leader runs. */
export function startLeaderTerm(options: LeaderTermOptions): LeaderTerm {
  const {
    kube,
    taint,
    nodes: nodeSettings,
    supervision,
    rounds: settings,
    progress: progressSettings,
    loki,
    sender,
    workflows,
    lastSeenAt,
    silentMs,
    metrics,
    log,
  } = options;
  const since = performance.now();
  const over = new AbortController();
  const { signal } = over;
  const progress = watchProgress({
    write: (ref, said) => writeProgress(kube, ref, said),
    writeAnswers: (ref, id, answers) => writeRestartAnswers(kube, ref, id, answers),
    everyMs: progressSettings.every,
    logDefaults: progressSettings.logs,
    hang: {
      settings: {
        times: progressSettings.hang.times,
        leastMs: progressSettings.hang.least,
        witnesses: progressSettings.hang.witnesses,
      },
      isLive: (node) => pods.isUpToDate() && performance.now() - (lastSeenAt(node) ?? -Infinity) < silentMs,
      raise: (job, fault, onLost) =>
        enqueue({ outbox, log, signal }, faultMessage({ kind: 'job', job }, fault), onLost),
    },
    slow: { times: progressSettings.slow.times, forMs: progressSettings.slow.for },
    job: (ref) => jobs.get(ref),
    metrics,
    log,
    signal,
  });
  const queue = openOutbox({
    sender,
    signal,
    onSent(call) {
      metrics.signalsSent.inc({ signal: nameOf(call) });
      if (call.signal?.name === 'faultsObserved') call.signal.payload.faults.forEach(metrics.faultAccepted);
    },
    onFailure(call, error, failures) {
      metrics.signalFailures.inc({ signal: nameOf(call) });
      // Logs the first failure, and then ever fewer: an outage of Temporal must not fill the log.
      if (Number.isInteger(Math.log2(failures)))
        log.warn(
          { to: call.workflowId, signal: nameOf(call), because: error.because, failures },
          'Temporal did not accept a signal',
        );
    },
  });
  const outbox: Outbox = {
    ...queue,
    send(message, withinMs) {
      progress.onMessage(message);
      return queue.send(message, withinMs);
    },
  };
  const watching = { kube, outbox, metrics, log, signal };
  let areNodesReachable = false;
  const nodes = watchNodes({
    ...watching,
    taint,
    settings: nodeSettings,
    workflows,
    observer: {
      lookAgain: (node) => ascend.lookAgain(node),
      setNodesReachable(isReachable) {
        areNodesReachable = isReachable;
        ascend.setNodesReachable(isReachable);
      },
    },
  });
  const noticeOf = openNodeNotices({ nodes, taint, isReachable: () => areNodesReachable, workflows, log, signal });
  const ascend = watchAscend({ ...watching, ...nodes, settings: nodeSettings.ascend, limits: loki.limits });
  const jobs = watchJobs({
    ...watching,
    taint,
    workflows,
    lookAgainMs: supervision.lookAgain,
    onJob,
    onGone: ({ ref }) => progress.forget(ref),
  });
  function onJob(job: KnownJob): void {
    progress.lookAgain(job.ref);
    pods.lookAgain(job.ref);
    preflights.lookAgain(job);
  }
  const liveness = (): AgentLiveness => ({
    nodes: nodes.accelerated(),
    lastSeenAt,
    ledSince: since,
    graceMs: silentMs,
  });
  const devices = watchPodDevices({ ...nodes, debounceMs: nodeSettings.allocatable.debounce, log, signal });
  const pods = watchPods({
    ...watching,
    job: (ref) => jobs.get(ref),
    onPod(event) {
      progress.see(event);
      devices.see(event);
    },
    seenSince: (node, from = since) => (lastSeenAt(node) ?? -Infinity) >= from,
    whyUnobservable: (node) => whyUnobservable(node, liveness(), performance.now()),
  });
  const preflights = watchPreflights({
    ...watching,
    job: (ref) => jobs.get(ref),
    acceleratorsOf: nodes.acceleratorsOf,
    namespaces: settings.namespaces,
    workflows,
  });
  const rounds = beginRounds({ settings, podOf: (uid) => testingPod(preflights.pods.get(uid)), signal, log });
  countOpenIncidents({ workflows, metrics, log, signal }).catch((error: unknown) =>
    log.error({ err: error }, 'defect: open recoveries and storms are no longer counted'),
  );
  let isUpToDate = false;
  const podsKnown = Promise.all([jobs.synced, pods.synced]).then(
    () => void (isUpToDate = true),
    () => undefined,
  );
  watchLoki({
    ...watching,
    ...loki,
    isNode: (node) => nodes.acceleratorsOf(node) !== undefined,
    podNamed: progress.podNamed,
    nodesKnown: nodes.settled,
    podsKnown,
    send(to, fault) {
      if (to.kind === 'node') nodes.follow(to.node);
      return outbox.send(faultMessage(to, fault));
    },
  }).catch((error: unknown) => log.error({ err: error }, 'defect: Loki is no longer read'));
  return {
    outbox,
    nodes,
    preflights,
    rounds,
    progress: { ...progress, isUpToDate: () => isUpToDate },
    noticeOf,
    liveness,
    end: () => over.abort(),
  };
}

const nameOf = (call: Call): string => call.signal?.name ?? 'start';

/** The pod if it runs and is not terminating. */
const testingPod = (pod: PreflightPod | undefined): RoundPod | undefined =>
  pod?.node === undefined || pod.terminating ? undefined : { ...pod, node: pod.node };
