/** One seeded scenario of a job: its overrides, its faults, and the step of its recovery at which they occur. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Activities } from '../../contract/wire/activities.ts';
import { type Fault, nodeNotReady, trainingHangs } from '../../contract/faults/faults.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import { seeded } from '../kill/seeded.ts';
import { kernelFault, podFault } from './builders.ts';
import { SeededCluster } from './seeded-cluster.ts';
import { drawOverrides, type Dice } from './seeded-overrides.ts';

/** Points at which something happens: during one of these activities, or while the recovery waits for a person or a change. */
const injectionPoints = [
  'decideIncident',
  'observeAttempt',
  'decideRecovery',
  'askProcesses',
  'captureEvidence',
  'awaitCheckpoint',
  'observeCapacity',
  'takeStandbyNodes',
  'stopAttempt',
  'resizeJob',
  'resumeJob',
  'awaitAttempt',
  'verifyProgress',
  'recordIncident',
  'waiting for approval',
  'held',
] as const;
type InjectionPoint = (typeof injectionPoints)[number];

/** Every recovery with a stop reaches these. */
const late = [
  'stopAttempt',
  'resumeJob',
  'awaitAttempt',
  'verifyProgress',
] as const satisfies readonly InjectionPoint[];

interface PlannedEvent {
  readonly what: string;
  readonly during: InjectionPoint;
  /** After the effect of the activity, and before its completion. */
  readonly after: boolean;
  readonly act: (during: string) => Promise<void> | void;
}

/** The recovery waits for these, so that it processes messages before its next step. */
const blocking: readonly string[] = [
  'observeAttempt',
  'askProcesses',
  'captureEvidence',
  'observeCapacity',
  'takeStandbyNodes',
  'resizeJob',
] satisfies readonly InjectionPoint[];

const ada = { by: 'ada', reason: 'a seeded request' };

/** Longest time until a scenario is at rest, ms; a slow machine needs a small part of it. */
const mostMs = 150_000;

export class Interleaving implements Dice {
  readonly seed: number;
  readonly cluster: SeededCluster;
  readonly faults: Fault[] = [];
  readonly log: string[] = [];
  private readonly random: () => number;
  /** Points to draw from, weighted by repetition. */
  private readonly injectionPoints: readonly InjectionPoint[];
  private plannedEvents: PlannedEvent[] = [];
  private busy = 0;
  private readonly requests: Promise<unknown>[] = [];
  private client: Client | undefined;
  /** The last recovery that was seen running. */
  private recovery: WorkflowHandle | undefined;
  private isPaused = false;
  private wasPaused = false;

  constructor(seed: number) {
    this.seed = seed;
    this.random = seeded(seed);
    this.cluster = new SeededCluster(seeded(seed + 1), (name, request, work) => this.meet(name, request, work));
    const { said, rare } = drawOverrides(this.cluster, this);
    this.log.push(said);
    this.injectionPoints = [...injectionPoints, ...late, ...late, ...(rare ? [rare, rare, rare] : [])];
    const { podFails, nodeIsBad, nodeLeaves, hang } = this.kinds;
    // Processes are asked only when no node is to blame.
    this.pick(rare === 'askProcesses' ? [podFails, hang] : [podFails, nodeIsBad, nodeLeaves, hang])();
    const others = Math.floor(this.random() * 6);
    for (let index = 0; index < others; index++) this.pick([podFails, nodeIsBad, ...Object.values(this.kinds)])();
  }

  get workflowId(): string {
    return jobWorkflowId(this.cluster.job);
  }

  readonly chance = (part: number): boolean => this.random() < part;
  readonly pick = <T>(list: readonly T[]): T => {
    const one = list[Math.floor(this.random() * list.length)];
    if (one === undefined) throw new Error('nothing to pick from');
    return one;
  };

  private readonly kinds = {
    podFails: () => this.plan('a pod fails', () => this.podFails()),
    nodeIsBad: () =>
      this.plan('a node is quarantined', () =>
        this.withNode((node) => this.signalFault(this.quarantine(this.kernel(node)))),
      ),
    nodeIsHeld: () => this.later(),
    nodeLeaves: () => this.leaves(),
    again: () =>
      this.plan('a fault is reported again', () =>
        this.faults.length > 0 ? this.signalFault(this.pick(this.faults), true) : this.podFails(),
      ),
    hang: () => this.plan('training stands still', () => this.hangs()),
    request: () => this.plan('ada asks for a recovery', () => this.signal('recover', ada)),
    pause: () => this.pauses(),
  };

  private plan(what: string, act: PlannedEvent['act']): void {
    this.plannedEvents.push({ what, during: this.pick(this.injectionPoints), after: this.chance(0.5), act });
  }

  private podFails(): Promise<void> | undefined {
    const pod = this.somePod();
    if (!pod) return undefined;
    const { name, uid, node } = pod;
    const at = {
      seenAt: new Date().toISOString(),
      pod: { name, uid, createdAt: this.cluster.createdAt.get(uid) ?? '' },
    };
    return this.signalFault(podFault({ id: `pod/${uid}`, node: node ?? 'none', message: `${name} failed`, ...at }));
  }

  private kernel(node: string): Fault {
    const dead = this.chance(0.5);
    const what = dead
      ? { code: 'xid/79', message: 'GPU has fallen off the bus' }
      : { code: 'xid/63', message: 'row remapping is pending' };
    return kernelFault({ ...what, id: `kernel/${node}/${this.faults.length}`, node, seenAt: new Date().toISOString() });
  }

  private quarantine(fault: Fault): Fault {
    return this.cluster.quarantined(fault);
  }

  /** The quarantine is refused first: the node still takes pods. */
  private later(): void {
    let held: Fault | undefined;
    this.plan('a node may not be quarantined', () =>
      this.withNode((node) => {
        held = { ...this.kernel(node), quarantine: { state: 'held', because: 'the limit' } };
        return this.signalFault(held);
      }),
    );
    this.plan('that node is quarantined', () => held && this.signalFault(this.quarantine(held), true));
  }

  private leaves(): void {
    let gone: string | undefined;
    this.plan('a node is not ready', () =>
      this.withNode((node) => {
        gone = node;
        this.cluster.change(node, { ready: false });
        const quarantine = { state: 'not-ready', because: 'its kubelet is silent' } as const;
        const at = { id: `not-ready/${node}/${this.faults.length}`, seenAt: new Date().toISOString() };
        return this.signalFault({
          source: 'node',
          code: nodeNotReady,
          message: 'its kubelet is silent',
          node,
          quarantine,
          ...at,
        });
      }),
    );
    this.plan('that node is back', () => {
      if (gone !== undefined) this.cluster.change(gone, { ready: true });
    });
  }

  private hangs(): Promise<void> {
    const { uid } = this.cluster.job;
    const id = `hang/${uid}/${this.faults.length}`;
    return this.signalFault({
      id,
      source: 'progress',
      code: trainingHangs,
      message: 'no step for 1 h',
      seenAt: new Date().toISOString(),
      job: uid,
    });
  }

  private pauses(): void {
    this.plan('ada pauses the job', async (during) => {
      const isFirst = !this.wasPaused;
      [this.isPaused, this.wasPaused] = [true, true];
      this.update('pause');
      if (isFirst && blocking.includes(during)) await this.pauseIsReceived();
    });
    this.plan('ada resumes the job', () => this.resumes());
  }

  private resumes(): void {
    this.cluster.pauseReceived = false;
    this.isPaused = false;
    this.update('resume');
  }

  /** Resolves when the recovery has the pause in its history: it may begin no stop from then on. */
  private async pauseIsReceived(): Promise<void> {
    const incident = inRecovery();
    if (incident === undefined || !this.client) return;
    for (let looks = 0; looks < 20; looks++) {
      const { events } = await this.client.workflow.getHandle(incident).fetchHistory();
      const received = events?.some(
        ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === 'jobPaused',
      );
      if (received) {
        this.cluster.pauseReceived = true;
        return;
      }
      await sleep(50);
    }
  }

  private somePod = (): AttemptPod | undefined =>
    this.cluster.pods.length === 0 ? undefined : this.pick(this.cluster.pods);

  /** A node with a pod, or a node that a pod has just left. */
  private withNode(act: (node: string) => Promise<void>): Promise<void> | undefined {
    const { left, pods, nodes } = this.cluster;
    const node = left.length > 0 && (pods.length === 0 || this.chance(0.3)) ? this.pick(left) : this.somePod()?.node;
    return node === undefined || nodes.get(node)?.taint ? undefined : act(node);
  }

  private async signalFault(fault: Fault, again = false): Promise<void> {
    this.log.push(`  reported: ${fault.id} ${fault.quarantine?.state ?? ''}`);
    if (!again) this.faults.push(fault);
    await this.signal('faultsObserved', { faults: [fault] });
  }

  private async signal(name: string, payload: object): Promise<void> {
    await this.client?.workflow.getHandle(this.workflowId).signal(name, payload);
  }

  /** Not awaited: the workflow that answers may itself wait for the current activity. */
  private update(name: 'pause' | 'resume'): void {
    const answer = this.client?.workflow.getHandle(this.workflowId).executeUpdate(name, { args: [ada] });
    this.requests.push(
      answer?.catch((error: unknown) => this.cluster.wrong.push(`${name} failed: ${String(error)}`)) ??
        Promise.resolve(),
    );
  }

  /** Wraps every activity: runs what is planned during it, and adds a delay. */
  private async meet(name: keyof Activities, request: unknown, work: () => Promise<unknown>): Promise<unknown> {
    const { info } = Context.current();
    const { workflowId = '' } = info.workflowExecution ?? {};
    if (workflowId.startsWith('recovery/') && this.recovery?.workflowId !== workflowId)
      this.recovery = this.client?.workflow.getHandle(workflowId);
    const isWait = name === 'awaitAttempt' || name === 'awaitCheckpoint' || name === 'verifyProgress';
    const beats = setInterval(() => info.heartbeatTimeoutMs && Context.current().heartbeat(), 500);
    if (!isWait) this.busy += 1;
    try {
      if (name === 'stopAttempt' || name === 'recordIncident')
        this.log.push(`${name} ${JSON.stringify(brief(request))}`);
      await this.happen(name, false);
      const result = await work();
      await this.happen(name, true);
      if (!name.startsWith('decide')) await sleep(this.random() * 30);
      return result;
    } finally {
      clearInterval(beats);
      if (!isWait) this.busy -= 1;
    }
  }

  private async happen(during: string, after: boolean): Promise<boolean> {
    const [now] = this.plannedEvents.filter((one) => one.during === during && one.after === after);
    if (!now) return false;
    await this.apply(now);
    // Usually long enough for a recovery to process it before the activity continues.
    if (!during.startsWith('decide')) await sleep(this.pick([0, 40, 150]));
    return true;
  }

  private async apply(one: PlannedEvent): Promise<void> {
    this.plannedEvents = this.plannedEvents.filter((other) => other !== one);
    this.log.push(`${one.after ? 'at the end of' : 'during'} ${one.during}: ${one.what}`);
    await one.act(one.during);
  }

  /** Runs until everything has happened and the job is watched again. Returns the ids of the recoveries. */
  async play(client: Client, taskQueue: string): Promise<void> {
    this.client = client;
    this.cluster.client = client;
    const handle = await client.workflow.start('trainingJob', {
      workflowId: this.workflowId,
      taskQueue,
      args: [{ job: this.cluster.job }],
    });
    const deadline = Date.now() + mostMs;
    let same = 0;
    let before = '';
    while (Date.now() < deadline) {
      const place = await this.place(handle);
      same = place === before ? same + 1 : 0;
      before = place;
      if (place === 'at rest' && same >= 3) {
        const [next] = this.plannedEvents;
        if (!next) return await this.end(handle);
        await this.apply(next);
        same = 0;
      }
      if ((place === 'held' || place === 'waiting for approval' || place === 'paused') && same >= 2) {
        if (!(await this.happen(place, false)) && !(await this.happen(place, true))) await this.letGo(place);
        same = 0;
      }
      await sleep(25);
    }
    this.cluster.wrong.push(`it did not come to rest: ${before}`);
    await this.end(handle);
  }

  /** Read from Temporal's own description: a query could interfere with a running decision, and each one creates a workflow task. */
  private async place(handle: WorkflowHandle): Promise<string> {
    const { phase, hasActivities } = await lookAt(handle);
    // A recovery may wait to be started that is not known here yet.
    if (phase === 'watching') return this.busy === 0 && !hasActivities ? 'at rest' : 'busy';
    return phase === 'recovering' && this.recovery ? (await lookAt(this.recovery)).phase : phase;
  }

  /** Provides what the recovery waits for: the pause ends, nodes are quarantined, capacity appears, a person answers. */
  private async letGo(place: string): Promise<void> {
    if (place === 'waiting for approval') {
      const answer = this.chance(0.75) ? 'approve' : 'deny';
      this.log.push(`let go: ${answer}`);
      await this.recovery?.executeUpdate(answer, { args: [ada] }).catch(() => undefined);
      return;
    }
    this.log.push(`let go: ${place}`);
    if (this.isPaused) this.resumes();
    this.cluster.capacity = {};
    for (const { node, id } of this.faults.filter(({ quarantine }) => quarantine?.state === 'held')) {
      const held = this.faults.find((one) => one.id === id);
      if (held && !this.cluster.nodes.get(node ?? '')?.taint) await this.signalFault(this.quarantine(held), true);
    }
    await this.recovery?.signal('recheck').catch(() => undefined);
  }

  private async end(handle: WorkflowHandle): Promise<void> {
    await Promise.all(this.requests);
    this.left = [...this.cluster.pods];
    this.cluster.view = null;
    await handle.signal('jobObserved', { change: 'gone' });
    await handle.result();
  }

  /** Pods that exist at the end. */
  left: readonly AttemptPod[] = [];
}

async function lookAt(handle: WorkflowHandle): Promise<{ readonly phase: string; readonly hasActivities: boolean }> {
  const { searchAttributes, raw, status } = await handle.describe();
  const hasActivities = (raw.pendingActivities?.length ?? 0) > 0;
  if (status.name !== 'RUNNING') return { phase: 'over', hasActivities };
  return {
    phase: raw.pendingWorkflowTask ? 'busy' : String(searchAttributes['KcoverPhase']?.[0] ?? 'busy'),
    hasActivities,
  };
}

/** Id of the recovery that runs this activity. */
function inRecovery(): string | undefined {
  try {
    const { workflowId } = Context.current().info.workflowExecution ?? {};
    return workflowId?.startsWith('recovery/') && !Context.current().info.isLocal ? workflowId : undefined;
  } catch {
    return undefined;
  }
}

function brief(request: unknown): unknown {
  const { incident, attempt, by, pods, force, outcome, because } = request as Record<string, unknown>;
  const names = Array.isArray(pods) ? pods.map((pod: AttemptPod) => `${pod.name}@${pod.node ?? ''}`) : undefined;
  return {
    incident: String(incident).slice(-24),
    attempt,
    by,
    pods: names,
    force: Array.isArray(force) ? force.length : undefined,
    outcome,
    because,
  };
}
