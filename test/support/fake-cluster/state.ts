/** The state of a cluster in memory, and what a test may change while it runs. */

import type { WaveAnswer } from '../../../contract/cluster.ts';
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { attemptInShort } from '../../../activities/recovery/attempt-in-short.ts';
import type { Announcement, ObservedWorkload } from '../../../contract/wire/activities.ts';
import type { StoredPause, PreflightScope, Reservation } from '../../../contract/cluster.ts';
import type { Fault } from '../../../contract/faults/faults.ts';
import type { AttemptPod, JobRef, JobView } from '../../../contract/job/jobs.ts';
import type { NodeRecord, NodeView } from '../../../contract/node/nodes.ts';
import type { Suspect } from '../../../contract/recovery/evidence.ts';
import type { VerifyResult } from '../../../contract/recovery/verification.ts';
import type { PreflightNote } from '../../../contract/preflight/runs.ts';
import type {
  CapacityFacts,
  CheckpointRequest,
  CheckpointResult,
  ResizeRequest,
} from '../../../contract/recovery/plan.ts';
import type { AttemptFacts, IncidentRecord, RecoveryOutcome } from '../../../contract/recovery/recovery.ts';
import type { IncidentDecision, BudgetEntry } from '../../../contract/job/training-job.ts';
import { FakeMaintenance } from './maintenance.ts';
import { FakeRemedies } from './remedy.ts';
import { jobView, nodeView, settings } from '../builders.ts';

/** A job of four pods on gpu-0..gpu-3, free nodes gpu-4..gpu-7. A test may change the fields while it runs. */
export class FakeClusterState {
  readonly job: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: randomUUID() };
  view: JobView | null = jobView({ ref: this.job });
  readonly nodes = new Map<string, NodeView>();
  pods: AttemptPod[] = [];
  private placedAt = '2026-11-21T06:00:00Z';
  readonly announced: Announcement[] = [];
  /** Receives notifications; throws where it does not take them. */
  onNotification?: (route: string, count: number) => Promise<void>;
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
  readonly remedies = new FakeRemedies();
  readonly maintenance = new FakeMaintenance();
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
  /** What every recovery that asks for its wave is answered. */
  wave: WaveAnswer = { granted: true, wave: 1 };
  readonly wavesAsked: object[] = [];
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

  attempt(nodes: readonly string[], pods: readonly string[] = []): AttemptFacts {
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
}
