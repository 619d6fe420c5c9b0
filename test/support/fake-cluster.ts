/** Activities over a cluster in memory: real decisions, simulated effects. For workflow tests only. */

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { attemptInShort, digestOf } from '../../activities/recovery/attempt-in-short.ts';
import { toFailure } from '../../activities/job/failures.ts';
import type { Activities, Announcement, ObservedWorkload } from '../../contract/wire/activities.ts';
import type { StoredPause, PreflightScope, Reservation } from '../../contract/cluster.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import type { AttemptPod, JobRef, JobView } from '../../contract/job/jobs.ts';
import type { NodeRecord, NodeView } from '../../contract/node/nodes.ts';
import type { Suspect } from '../../contract/recovery/evidence.ts';
import type { VerifyResult } from '../../contract/recovery/verification.ts';
import type { PreflightNote } from '../../contract/preflight/runs.ts';
import type {
  CapacityFacts,
  CheckpointRequest,
  CheckpointResult,
  ResizeRequest,
} from '../../contract/recovery/plan.ts';
import type { AttemptFacts, IncidentRecord, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import type { IncidentDecision, BudgetEntry } from '../../contract/job/training-job.ts';
import { decideCapacity } from '../../policy/capacity/capacity.ts';
import { decideIncident } from '../../policy/incident/incident.ts';
import { decideNode } from '../../policy/node/node.ts';
import { decideCollection, decidePreflight } from '../../policy/preflight/preflight.ts';
import { decideOptIn } from '../../policy/recovery/recoverable.ts';
import { decideRecovery } from '../../policy/recovery/recovery.ts';
import { jobView, nodeView, settings } from './builders.ts';

/** A job of four pods on gpu-0..gpu-3, free nodes gpu-4..gpu-7. A test may change the fields while it runs. */
export class FakeCluster {
  readonly job: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: randomUUID() };
  view: JobView | null = jobView({ ref: this.job });
  readonly nodes = new Map<string, NodeView>();
  pods: AttemptPod[] = [];
  private placedAt = '2026-11-21T06:00:00Z';
  readonly announced: Announcement[] = [];
  /** What the evidence says of ranks. */
  suspects: readonly Suspect[] = [];
  /** Faults that needed no action. */
  readonly dismissals: IncidentDecision['dismissed'][number][] = [];
  /** Number of observations of the attempt. */
  looks = 0;
  readonly records: IncidentRecord[] = [];
  readonly nodeRecords: NodeRecord[] = [];
  readonly stopped: { attempt: number; uids: string[] }[] = [];
  settings = settings({ mode: 'act' });
  paused: { by: string; reason: string } | undefined;
  /** State that outlives the workflow of the cluster: a pause, and the nodes with our annotation; `clusterReadGate` delays reading them. */
  storedPause: StoredPause | undefined;
  pauseUnwritable: string | undefined;
  storedReservations: readonly Reservation[] = [];
  clusterReadGate: Promise<void> = Promise.resolve();
  mayReserve: true | string = true;
  /** Requests to the cluster's workflow. */
  readonly reserving: { readonly nodeUid: string; readonly preflight?: PreflightScope }[] = [];
  /** Why nodes cannot be written, while set. */
  unwritable: string | undefined;
  /** States of a node with which jobs were notified of its faults. */
  readonly notifiedStates: string[] = [];
  /** Why no node can be released despite retries, while set. */
  forbidden: string | undefined;
  /** A failing write has taken effect all the same. */
  writesTaintDespiteError = false;
  /** Delays the record store until the test resolves it. */
  recordGate: Promise<void> = Promise.resolve();
  /** Why nothing can be observed, while set. */
  unobservable: string | undefined;
  /** Nodes whose pods can only be deleted by force. */
  readonly dead = new Set<string>();
  /** Events are written only after this. */
  eventsGate: Promise<void> = Promise.resolve();
  /** This many attempts to write Events fail. */
  failingEvents = 0;
  /** This many reads of a node fail. */
  unreachable = 0;
  resumes = 0;
  /** Called before every observation of the attempt. */
  beforeLook: (() => Promise<void>) | undefined;
  /** Temporal's answer for a recovery that closed without a report. */
  closed: RecoveryOutcome | undefined;
  /** Why its workflow task fails repeatedly. */
  stuck: string | undefined;
  /** Why Temporal cannot search. */
  unsearchable: string | undefined;
  found: { usage: readonly BudgetEntry[]; open?: string } = { usage: [] };
  /** Delays the restart until the test resolves it. */
  gate: Promise<void> = Promise.resolve();
  onNotified: ((workflowIds: readonly string[]) => void) | undefined;
  /** Faults that a preflight reported to nodes, and the notes that it left on the job. */
  readonly notified: Fault[] = [];
  /** Nodes for which the report fails. */
  readonly unnotifiable = new Set<string>();
  readonly notes: PreflightNote[] = [];
  /** Attempts of which evidence was kept. */
  readonly captured: number[] = [];
  storeFails = false;
  verified: (beyond: number) => VerifyResult | Promise<VerifyResult> = (beyond) => ({
    kind: 'verified',
    progress: { step: beyond + 1, at: new Date().toISOString() },
    because: `step ${beyond + 1} is done`,
  });
  /** Activities that await a checkpoint, and capacity for the next attempt; a test may change `fit` while it runs. */
  checkpoint: (request: CheckpointRequest) => CheckpointResult | Promise<CheckpointResult> = ({ atLeast }) => ({
    kind: 'saved',
    checkpointStep: atLeast,
    waitedMs: 1,
    because: `step ${atLeast} is saved`,
  });
  capacity: Partial<CapacityFacts> | 'unseen' = {};
  resized: ResizeRequest[] = [];
  readonly standbyTaken: string[] = [];
  /** Called by every capacity lookup, before it returns. */
  beforeCapacityAnswer: () => Promise<void> = async () => undefined;
  /** How often the need-recovery label was removed. */
  labelsRemoved = 0;
  asked = 0;
  /** Called by every stop that is sent, before it returns. */
  stopping: () => Promise<void> = async () => undefined;
  /** Why no stop can be sent, while set. */
  unsendable: string | undefined;
  /** The job cannot be read before this. */
  readable: Promise<void> = Promise.resolve();
  /** No job can be resumed before this. */
  resumable: Promise<void> = Promise.resolve();
  /** Stops leave pods when their time is over. */
  podsRemain = false;
  workload: ObservedWorkload = { kind: 'there', optedIn: true };
  /** Set by the test: the rig's client and queue, for signals between workflows. */
  client: Client | undefined;

  constructor() {
    for (let index = 0; index < 8; index++)
      this.nodes.set(
        `gpu-${index}`,
        nodeView({ name: `gpu-${index}`, uid: `${this.job.uid}-node-${index}`, systemUuid: `machine-${index}` }),
      );
    this.place();
  }

  /** When the oldest of the present pods was created. */
  protected oldestPodAt(): string | undefined {
    return this.placedAt;
  }

  place(): void {
    if (this.pods.length > 0 || this.stopped.length > 0) this.placedAt = new Date().toISOString();
    const free = [...this.nodes.values()].filter((node) => !node.taint && node.ready).map((node) => node.name);
    this.pods = [0, 1, 2, 3].map((index) => ({ name: `llm-${index}`, uid: randomUUID(), node: free[index] ?? 'none' }));
  }

  activities(): Activities {
    const digest = async <T>(decision: T): Promise<T & { settings: string; at: number }> => ({
      ...decision,
      settings: 'test',
      at: Date.now(),
    });
    return {
      decideNode: (facts) => digest(decideNode(facts, this.settings)),
      decideIncident: (facts) => {
        const decision = decideIncident(facts, this.settings);
        this.dismissals.push(...decision.dismissed);
        return digest(decision);
      },
      decideRecovery: (facts) => digest(decideRecovery(facts, this.settings)),
      decideOptIn: (view) => digest(decideOptIn(view, this.settings)),
      decideCollection: (request) => digest(decideCollection(request, this.settings)),
      decidePreflight: (request) => digest(decidePreflight(request, this.settings)),
      observeNode: async ({ node }) => {
        if (this.unreachable > 0) {
          this.unreachable -= 1;
          throw toFailure(new KcoverError('kube.unreachable', `read node ${node}`));
        }
        return this.nodes.get(node) ?? null;
      },
      observeCluster: async () => {
        await this.clusterReadGate;
        return { out: this.storedReservations, ...(this.storedPause && { pause: this.storedPause }) };
      },
      storePause: async (word) => {
        if (this.pauseUnwritable !== undefined) throw toFailure(new KcoverError('kube.invalid', this.pauseUnwritable));
        this.storedPause = word;
      },
      reserveQuarantine: async ({ nodeUid, incident, preflight }) => {
        this.reserving.push({ nodeUid, ...(preflight && { preflight }) });
        return this.mayReserve === true
          ? { granted: true, nodeUid, incident }
          : { granted: false, nodeUid, because: this.mayReserve };
      },
      quarantineNode: async ({ node, reason, incident }) => {
        if (this.writesTaintDespiteError) this.change(node, { taint: { value: reason, ours: true, incident } });
        if (this.unwritable !== undefined) throw toFailure(new KcoverError('kube.invalid', this.unwritable));
        this.change(node, { taint: { value: reason, ours: true, incident } });
        return { at: new Date().toISOString(), taint: 'ours', cordonedByUs: false };
      },
      releaseNode: async ({ node, incident, judged, history }) => {
        if (this.forbidden !== undefined) throw toFailure(new KcoverError('kube.forbidden', this.forbidden));
        if (this.unwritable !== undefined) throw toFailure(new KcoverError('kube.invalid', this.unwritable));
        if (!this.nodes.has(node)) return { kind: 'gone' };
        const { taint, ...rest } = this.nodes.get(node) ?? nodeView({ name: node });
        if (taint?.ours === false || (taint?.incident ?? incident) !== incident)
          return { kind: 'not-ours', remainingTaint: 'the taint stays' };
        this.nodes.set(node, { ...rest, ...(judged ? { judged } : {}), ...(history && { history }) });
        return { kind: 'released' };
      },
      notifyJobs: async ({ node, faults }) => {
        this.notifiedStates.push(...faults.map(({ quarantine }) => quarantine?.state ?? 'none'));
        if (!this.view?.optedIn || !this.pods.some((pod) => pod.node === node)) return [];
        await this.client?.workflow.getHandle(jobWorkflowId(this.job)).signal('faultsObserved', { faults });
        return [jobWorkflowId(this.job)];
      },
      notifyNodes: async ({ faults }) => {
        const unnotified = faults.filter(({ node }) => this.unnotifiable.has(node ?? ''));
        this.notified.push(...faults.filter((fault) => !unnotified.includes(fault)));
        return {
          unnotified: unnotified.map(({ id }) => id),
          ...(unnotified.length > 0 && { because: 'the namespace is full' }),
        };
      },
      observeWorkload: async () => this.workload,
      noteVerdict: async ({ note }) => {
        this.notes.push(note);
      },
      observeJob: () => this.readable.then(() => this.view),
      observeAttempt: async ({ nodes, pods }) => {
        this.looks += 1;
        await this.beforeLook?.();
        return this.attempt(nodes, pods);
      },
      listPods: async () => ({ pods: this.pods, terminating: [], digest: digestOf(this.pods) }),
      stopAttempt: async ({ attempt, pods, force, by, immediate }) => {
        if (this.unsendable !== undefined) return { kind: 'unsent', because: this.unsendable };
        await this.stopping();
        if (immediate && !force) {
          this.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
          return { kind: 'lost', because: 'mode is force', pods };
        }
        if (this.podsRemain && !force) {
          this.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
          return { kind: 'timed-out', because: 'they are still there', left: pods.map((pod) => pod.name) };
        }
        if (by === 'pods') {
          this.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
          this.pods = this.pods.map((pod) =>
            pods.some(({ uid }) => uid === pod.uid) ? { ...pod, uid: randomUUID() } : pod,
          );
          return { kind: 'stopped', at: new Date().toISOString(), requests: pods.length };
        }
        const lost = pods.filter((pod) => this.dead.has(pod.node ?? ''));
        if (!force) this.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
        if (!force && lost.length > 0) return { kind: 'lost', because: 'its node stays not ready', pods: lost };
        this.pods = [];
        return { kind: 'stopped', at: new Date().toISOString(), requests: 1, ...(force ? { forced: force } : {}) };
      },
      captureEvidence: async ({ attempt, pods }) => {
        if (this.storeFails) throw toFailure(new KcoverError('kube.invalid', 'the store is full'));
        this.captured.push(attempt);
        return {
          address: `evidence/${attempt}`,
          attempt,
          ranks: pods.length,
          of: pods.length,
          files: pods.length,
          bytes: 100,
          digest: 'd',
          ...(this.suspects.length > 0 && { suspects: this.suspects }),
        };
      },
      decideCapacity: (request) => digest(decideCapacity(request, this.settings)),
      awaitCheckpoint: async (request) => this.checkpoint(request),
      observeCapacity: async () => {
        await this.beforeCapacityAnswer();
        if (this.capacity === 'unseen') throw toFailure(new KcoverError('kube.invalid', 'the nodes cannot be listed'));
        const needed = this.view?.podsExpected ?? 0;
        return {
          needed,
          fit: needed,
          fitWithStandby: this.capacity.fit ?? needed,
          standbyNodes: [],
          because: 'capacity everywhere',
          sizes: { now: needed, least: 1 },
          ...this.capacity,
        };
      },
      takeStandbyNodes: async ({ nodes }) => {
        this.standbyTaken.push(...nodes);
        if (this.capacity !== 'unseen') this.capacity = { ...this.capacity, fit: this.capacity.fitWithStandby ?? 0 };
        return { taken: nodes };
      },
      resizeJob: async (request) => {
        this.resized.push(request);
        const before = this.view?.podsExpected ?? 0;
        return { kind: 'resized', before, after: request.pods ?? before };
      },
      askProcesses: async () => void (this.asked += 1),
      verifyProgress: async ({ beyond }) => this.verified(beyond),
      resumeJob: async () => {
        await this.resumable;
        this.resumes += 1;
        // As its controller does; a fault of a node that is signalled from now on may concern them.
        if (this.pods.length === 0) this.place();
        return { resumed: true };
      },
      awaitAttempt: async ({ old }) => {
        if (this.pods.length === 0) this.place();
        await this.gate;
        if (!this.view?.optedIn) return { kind: 'ended', outcome: 'cancelled', because: 'the job was opted out' };
        if (this.pods.some((pod) => old.includes(pod.uid))) throw new Error('the old attempt was counted');
        return {
          kind: 'running',
          at: new Date().toISOString(),
          pods: this.pods,
          startedAt: new Date().toISOString(),
          misplaced: 0,
        };
      },
      removeRecoveryLabel: async () => void (this.labelsRemoved += 1),
      announce: async ({ events }) => {
        await this.eventsGate;
        if (this.failingEvents > 0) {
          this.failingEvents -= 1;
          throw toFailure(new KcoverError('kube.unreachable', 'write an Event: 500'));
        }
        this.announced.push(...events);
      },
      recordIncident: async (record) => {
        await this.recordGate;
        if ('job' in record) this.records.push(record);
        else this.nodeRecords.push(record);
        return { address: `memory/${record.incident}` };
      },
      findRecoveries: async () => {
        if (this.unsearchable !== undefined) throw toFailure(new KcoverError('kube.invalid', this.unsearchable));
        return this.found;
      },
      lookAtRecovery: async () => {
        if (this.closed) return { kind: 'closed', report: this.closed };
        return { kind: 'running', ...(this.stuck !== undefined && { stuck: this.stuck }) };
      },
      notifyWaiting: async ({ workflowIds }) => {
        this.onNotified?.(workflowIds);
        for (const id of workflowIds)
          await this.client?.workflow
            .getHandle(id)
            .signal('recheck')
            .catch(() => undefined);
      },
    };
  }

  private attempt(nodes: readonly string[], pods: readonly string[] = []): AttemptFacts {
    if (this.unobservable !== undefined) return { pods: [], nodes: [], undecided: [], unobservable: this.unobservable };
    const oldestPodAt = this.pods.length > 0 ? this.oldestPodAt() : undefined;
    return {
      ...attemptInShort({ pods: this.pods, terminating: [] }, { nodes, pods }),
      ...(oldestPodAt !== undefined && { oldestPodAt }),
      nodes: nodes.flatMap((name) => this.nodes.get(name) ?? []),
      undecided: [],
      ...(this.view ? { job: this.view } : {}),
      ...(this.paused ? { paused: this.paused } : {}),
    };
  }

  change(node: string, more: Partial<NodeView>): void {
    const current = this.nodes.get(node);
    if (current) this.nodes.set(node, { ...current, ...more });
  }

  reasons = (): string[] => this.announced.map((one) => one.reason);

  /** A node fault as the node's workflow reports it after the quarantine. */
  quarantined(fault: Fault): Fault {
    this.change(fault.node ?? '', { taint: { value: 'xid-79', ours: true } });
    return { ...fault, quarantine: { state: 'quarantined', because: fault.message } };
  }
}

/** Activities that always go to the cluster of the running test. */
export const activitiesOf = (current: () => FakeCluster): Activities =>
  Object.fromEntries(
    Object.keys(new FakeCluster().activities()).map((name) => [
      name,
      (request: never) => (current().activities()[name as 'announce'] as (one: never) => unknown)(request),
    ]),
  ) as unknown as Activities;
