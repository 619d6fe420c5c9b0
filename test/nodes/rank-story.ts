/** Helpers for tests that break ranks on healthy nodes. */

import { expect } from '@jest/globals';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import type { LiveJob } from '../support/live-kcover.ts';
import type { FaultyCluster, Trained } from './faulty-cluster.ts';

export const uidOf = (job: LiveJob, pod: number): string | undefined => job.first[pod]?.metadata?.uid;

/** The jobs of one test, on nodes that no other test breaks at that time. */
export class RankStory {
  readonly faulty: FaultyCluster;
  readonly nodes: readonly RealNode[];
  readonly #jobs: LiveJob[] = [];

  constructor(faulty: FaultyCluster, nodes: readonly RealNode[]) {
    this.faulty = faulty;
    this.nodes = nodes;
  }

  get on(): readonly string[] {
    return this.nodes.map(({ name }) => name);
  }

  async train(options: Trained = {}): Promise<LiveJob> {
    const job = await this.faulty.train({ on: this.on, ...options });
    this.#jobs.push(job);
    return job;
  }

  get quarantined(): readonly RealNode[] {
    return this.nodes.filter(({ name }) => this.faulty.live.recorder.isQuarantined(name));
  }

  /** Expects one stop of the whole job, no quarantined node, and training that continues. */
  async restartedOnce(job: LiveJob, fault: string, blame: string): Promise<IncidentRecord | undefined> {
    const { live } = this.faulty;
    const [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'recovered', stops: [{ attempt: 1, by: 'suspend' }] });
    // The operator may have replaced an evicted rank before the stop; the other rank was stopped in any case.
    const [stopped, running] = [record?.stops[0]?.pods, record?.runningPods].map((pods) => pods?.map(({ uid }) => uid));
    expect(stopped).toContain(uidOf(job, 0));
    for (const pod of [0, 1]) expect(running).not.toContain(uidOf(job, pod));
    expect(record?.faults.map(({ code }) => code)).toContain(fault);
    expect(record?.decisions.find(({ kind }) => kind === 'stop')?.blame).toBe(blame);
    expect(record?.forced).toBeUndefined();
    const facts = await live.facts(job);
    expect(suspendsOf(facts)).toHaveLength(1);
    expect(violations(facts)).toEqual([]);
    expect(this.quarantined).toEqual([]);
    return record;
  }

  async end(): Promise<void> {
    const { live } = this.faulty;
    await Promise.all(this.#jobs.map((job) => live.end(job)));
    await Promise.all(this.nodes.map((node) => live.release(node)));
  }
}
