/** The fake cluster of one seeded scenario: its controller recreates pods, its stops check before they repeat, and every deletion is counted. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Activities } from '../../contract/wire/activities.ts';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { AwaitRequest, AwaitResult, StopRequest, StopResult } from '../../contract/recovery/recovery.ts';
import { nodeView } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';

/** A stop that took effect. */
export interface StoppedAttempt {
  readonly incident: string;
  readonly attempt: number;
  readonly uids: readonly string[];
}

export type Meet = (name: keyof Activities, request: unknown, work: () => Promise<unknown>) => Promise<unknown>;

export class SeededCluster extends FakeCluster {
  readonly stops: StoppedAttempt[] = [];
  /** UIDs, one entry for each deletion. */
  readonly graceful: string[] = [];
  readonly forced: string[] = [];
  suspends = 0;
  /** Nodes of the pods of the last stop: faults there may still be reported. */
  left: readonly string[] = [];
  /** Faults that the workflow of the job dismissed. */
  readonly dismissed: string[] = [];
  /** The recovery knows that the job is paused. */
  pauseReceived = false;
  readonly wrong: string[] = [];
  readonly createdAt = new Map<string, string>();
  /** Results of the next proofs and stops; by default they succeed. */
  unproven = 0;
  late = 0;
  /** Actions that may happen only once in an incident or attempt. */
  readonly actions = new Set<string>();
  private terminating: AttemptPod[] = [];
  private look = 0;
  private readonly random: () => number;
  private readonly meet: Meet;

  constructor(random: () => number, meet: Meet) {
    super();
    [this.random, this.meet] = [random, meet];
    for (let index = 8; index < 20; index++) {
      const name = `gpu-${index}`;
      this.nodes.set(name, nodeView({ name, uid: `${this.job.uid}-node-${index}`, systemUuid: `machine-${index}` }));
    }
    this.place();
  }

  override place(): void {
    // The constructor of the base class runs before the seed is set.
    if (!this.random || this.view?.suspension || this.pods.length > 0) return;
    for (let index = 0; index < (this.view?.podsExpected ?? 0); index++) this.pods.push(this.born(`llm-${index}`));
  }

  protected override oldestPodAt(): string | undefined {
    return this.pods.flatMap(({ uid }) => this.createdAt.get(uid) ?? []).toSorted()[0];
  }

  private born(name: string): AttemptPod {
    const free = [...this.nodes.values()].filter(
      (node) => !node.taint && node.ready && !this.pods.some((pod) => pod.node === node.name),
    );
    const node = free[Math.floor(this.random() * free.length)]?.name ?? 'none';
    const uid = randomUUID();
    this.createdAt.set(uid, new Date().toISOString());
    return { name, uid, node };
  }

  override activities(): Activities {
    const usual = super.activities();
    const own: Activities = {
      ...usual,
      decideIncident: async (facts) => {
        const decision = await usual.decideIncident(facts);
        this.dismissed.push(...decision.dismissed.map(({ id }) => id));
        return decision;
      },
      stopAttempt: (request) => this.stop(request),
      resumeJob: async ({ incident }) => {
        if (this.view?.suspension?.by !== 'kcover' || this.view.suspension.incident !== incident)
          return { resumed: false };
        const { suspension: _, ...rest } = this.view;
        this.view = rest;
        this.resumes += 1;
        this.recreatePods();
        return { resumed: true };
      },
      askProcesses: (request) => {
        this.once('the processes were asked', request.incident);
        return usual.askProcesses(request);
      },
      takeStandbyNodes: (request) => {
        this.once('standby nodes were taken', request.incident);
        return usual.takeStandbyNodes(request);
      },
      resizeJob: async (request) => {
        const { suspension } = this.view ?? {};
        if (suspension?.by !== 'kcover' || suspension.incident !== request.incident) {
          this.wrong.push(`${request.incident} resized a job that it had not suspended`);
          return { kind: 'refused', because: 'it is not suspended by this incident' };
        }
        this.once('the job was resized', `${request.incident}#${suspension.attempt}`);
        const before = this.view?.podsExpected ?? 0;
        const after = request.pods ?? before;
        if (this.view) this.view = { ...this.view, podsExpected: after };
        return { kind: 'resized', before, after };
      },
      awaitAttempt: (request) => this.attemptRuns(request),
      verifyProgress: async ({ beyond }) => {
        await sleep(this.random() * 100);
        if (this.unproven > 0) {
          this.unproven -= 1;
          return { kind: 'unverified', because: 'no step' };
        }
        const progress = { ...this.view?.progress, step: beyond + 1, at: new Date().toISOString() };
        if (this.view) this.view = { ...this.view, progress };
        return { kind: 'verified', progress, because: `step ${beyond + 1} is done` };
      },
    };
    return Object.fromEntries(
      Object.entries(own).map(([name, work]) => [
        name,
        (request: never) =>
          this.meet(name as keyof Activities, request, () => (work as (one: never) => Promise<unknown>)(request)),
      ]),
    ) as unknown as Activities;
  }

  /** Activities of these scenarios are never retried, so their effects must not repeat. */
  private once(what: string, where: string): void {
    const action = `${what} in ${where}`;
    if (this.actions.has(action)) this.wrong.push(`${action} twice`);
    this.actions.add(action);
  }

  /** The controller creates pods with a delay. */
  private recreatePods(): void {
    setTimeout(() => this.place(), this.random() * 60);
  }

  private async stop(request: StopRequest): Promise<StopResult> {
    const { incident, attempt, by, pods, force, immediate } = request;
    const at = new Date().toISOString();
    if (force) return { kind: 'stopped', at, requests: force.length, forced: this.delete(force) };
    if (!this.stops.some((stop) => stop.incident === incident && stop.attempt === attempt)) {
      const present = new Set(this.pods.map(({ uid }) => uid));
      const same = pods.every(({ uid }) => present.has(uid)) && (by === 'pods' || pods.length === present.size);
      if (!same || this.view?.suspension)
        return { kind: 'interfered', because: 'the job changed since it was looked at' };
      if (this.pauseReceived)
        this.wrong.push(`stop ${attempt} of ${incident} began although the recovery knew of a pause`);
      this.begin(request);
    }
    const left = this.terminating.filter(({ uid }) => pods.some((pod) => pod.uid === uid));
    if (immediate) return { kind: 'lost', because: 'mode is force', pods: left };
    const lost = left.filter(({ node = '' }) => this.nodes.get(node)?.ready === false);
    if (lost.length > 0) return { kind: 'lost', because: 'its node stays not ready', pods: lost };
    if (this.late > 0 && left.length > 0) {
      this.late -= 1;
      return { kind: 'timed-out', because: 'they are still there', left: left.map(({ name }) => name) };
    }
    this.terminating = this.terminating.filter((pod) => !left.includes(pod));
    return { kind: 'stopped', at, requests: 1 };
  }

  private begin({ incident, attempt, by, pods }: StopRequest): void {
    const uids = new Set(pods.map(({ uid }) => uid));
    this.stops.push({ incident, attempt, uids: [...uids] });
    this.graceful.push(...uids);
    this.terminating.push(...pods);
    this.left = pods.flatMap(({ node }) => node ?? []);
    if (by === 'suspend') {
      this.suspends += 1;
      if (this.view) this.view = { ...this.view, suspension: { by: 'kcover', incident, attempt } };
    }
    const remaining = this.pods.filter(({ uid }) => !uids.has(uid));
    if (by === 'pods') {
      const names = pods.map(({ name }) => name);
      this.pods = remaining;
      for (const name of names) this.pods.push(this.born(name));
    } else {
      this.pods = [];
      this.recreatePods();
    }
  }

  /** Deletes the pods; returns those that are still terminating. */
  private delete(pods: readonly AttemptPod[]): AttemptPod[] {
    const going = pods.filter(
      ({ uid }) => this.terminating.some((pod) => pod.uid === uid) && !this.forced.includes(uid),
    );
    this.forced.push(...going.map(({ uid }) => uid));
    this.terminating = this.terminating.filter(({ uid }) => !going.some((pod) => pod.uid === uid));
    return going;
  }

  /** Pods are ready on ready nodes; a pod on a quarantined node is recreated elsewhere. */
  private async attemptRuns({ old }: AwaitRequest): Promise<AwaitResult> {
    const mine = ++this.look;
    const { cancellationSignal: signal } = Context.current();
    for (;;) {
      await sleep(10 + this.random() * 40);
      // A later call, or a stop, has replaced this one, so its remaining effects are unwanted.
      if (signal.aborted || mine !== this.look || this.view === null)
        return { kind: 'overdue', because: 'it was superseded' };
      if (this.pods.length === 0) continue;
      this.pods = this.pods.map((pod) =>
        this.nodes.get(pod.node ?? '')?.taint && !old.includes(pod.uid) ? this.born(pod.name) : pod,
      );
      if (this.pods.some(({ node = '' }) => this.nodes.get(node)?.ready === false)) continue;
      if (this.pods.some(({ uid }) => old.includes(uid))) this.wrong.push('the old attempt was counted');
      const startedAt = this.pods.map(({ uid }) => this.createdAt.get(uid) ?? '').toSorted()[0] ?? '';
      return { kind: 'running', at: new Date().toISOString(), pods: this.pods, startedAt, misplaced: 0 };
    }
  }
}
