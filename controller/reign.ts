/** What runs only while we lead: the delivery and every watcher. */

import type { ControllerSettings } from '../contract/settings.schema.ts';
import type { Logger } from 'pino';
import type { Kube } from '../kube/connection.ts';
import type { QuarantineTaint } from '../kube/nodes.ts';
import { writeProgress } from '../kube/jobs.ts';
import type { PreflightPod } from '../kube/preflight-pods.ts';
import { type Hearing, whySilent } from '../policy/agent-silence.ts';
import { type Delivery, openDelivery, type Sender } from './delivery.ts';
import { type Call, faultLetter } from './letters.ts';
import type { ControllerMetrics } from './metrics.ts';
import type { ProgressTaker } from './progress/endpoint.ts';
import { watchProgress } from './progress/watch.ts';
import { beginRounds, type Rounds } from './rounds/polls.ts';
import type { TestingPod } from './rounds/run.ts';
import type { Workflows } from './temporal.ts';
import { post } from './watchers/follow.ts';
import { watchJobs } from './watchers/jobs.ts';
import type { KnownJob } from './watchers/known-jobs.ts';
import { type NodesWatch, watchNodes } from './watchers/nodes.ts';
import { watchPods } from './watchers/pods.ts';
import { type PreflightsWatch, watchPreflights } from './watchers/preflights.ts';

export interface ReignOptions {
  readonly kube: Kube;
  readonly taint: QuarantineTaint;
  readonly readiness: ControllerSettings['nodes'];
  readonly supervision: ControllerSettings['jobs'];
  readonly rounds: ControllerSettings['preflight'];
  readonly progress: ControllerSettings['progress'];
  readonly sender: Sender;
  readonly workflows: Workflows;
  /** When the agent of a node was last heard, and after which time it counts as silent; monotonic, ms. */
  readonly heardAt: (node: string) => number | undefined;
  readonly silentMs: number;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}

export interface Reign {
  readonly delivery: Delivery;
  readonly nodes: NodesWatch;
  readonly preflights: PreflightsWatch;
  readonly rounds: Rounds;
  readonly progress: ProgressTaker;
  /** What can be heard of the nodes with accelerators. */
  hearing(): Hearing;
  /** Nothing is sent after this. Safe to repeat. */
  end(): void;
}

/** From here on we alone speak for the cluster. */
export function beginReign(options: ReignOptions): Reign {
  const { kube, taint, readiness, supervision, rounds: settings, progress: told, sender, workflows, heardAt, silentMs, metrics, log } = options;
  const since = performance.now();
  const over = new AbortController();
  const { signal } = over;
  const progress = watchProgress({
    write: (ref, said) => writeProgress(kube, ref, said),
    everyMs: told.every,
    hang: {
      settings: { times: told.hang.times, leastMs: told.hang.least },
      hears: (node) => pods.sees() && performance.now() - (heardAt(node) ?? -Infinity) < silentMs,
      raise: (job, fault, onLost) => post({ delivery, log, signal }, faultLetter({ kind: 'job', job }, fault), onLost),
    },
    job: (ref) => jobs.get(ref),
    metrics,
    log,
    signal,
  });
  const outbox = openDelivery({
    sender,
    signal,
    onSent: (call) => metrics.signalsSent.inc({ signal: nameOf(call) }),
    onFailure(call, error, failures) {
      metrics.signalFailures.inc({ signal: nameOf(call) });
      // The first failure and then ever fewer: an outage of Temporal must not fill the log.
      if (Number.isInteger(Math.log2(failures)))
        log.warn({ to: call.workflowId, signal: nameOf(call), because: error.because, failures }, 'Temporal did not take a signal');
    },
  });
  const delivery: Delivery = {
    ...outbox,
    send(letter, withinMs) {
      progress.heed(letter);
      return outbox.send(letter, withinMs);
    },
  };
  const watching = { kube, delivery, metrics, log, signal };
  const nodes = watchNodes({ ...watching, taint, readiness, workflows });
  const jobs = watchJobs({ ...watching, taint, workflows, lookAgainMs: supervision.lookAgain, onJob, onGone: ({ ref }) => progress.forget(ref) });
  function onJob(job: KnownJob): void {
    progress.lookAgain(job.ref);
    pods.lookAgain(job.ref);
    preflights.lookAgain(job);
  }
  const hearing = (): Hearing => ({ nodes: nodes.accelerated(), heardAt, ledSince: since, graceMs: silentMs });
  const pods = watchPods({
    ...watching,
    job: (ref) => jobs.get(ref),
    onPod: progress.see,
    heard: (node, from = since) => (heardAt(node) ?? -Infinity) >= from,
    silence: (node) => whySilent(node, hearing(), performance.now()),
  });
  const preflights = watchPreflights({
    ...watching,
    job: (ref) => jobs.get(ref),
    acceleratorsOf: nodes.acceleratorsOf,
    namespaces: settings.namespaces,
    workflows,
  });
  const rounds = beginRounds({ settings, podOf: (uid) => testingPod(preflights.pods.get(uid)), signal, log });
  let sees = false;
  Promise.all([jobs.synced, pods.synced]).then(
    () => (sees = true),
    () => undefined,
  );
  return { delivery, nodes, preflights, rounds, progress: { take: progress.take, sees: () => sees }, hearing, end: () => over.abort() };
}

const nameOf = (call: Call): string => call.signal?.name ?? 'start';

/** One that runs and that nobody has asked to go. */
const testingPod = (pod: PreflightPod | undefined): TestingPod | undefined => (pod?.node === undefined || pod.leaving ? undefined : { ...pod, node: pod.node });
