/** Jobs with preflight on real servers: the simulated containers, and the collected status. */

import { randomUUID } from 'node:crypto';
import type { V1Pod } from '@kubernetes/client-node';
import { preflightWorkflowId } from '../../contract/ids.ts';
import { signals, statusQuery } from '../../contract/wire/messages.ts';
import type { PreflightRun, PreflightStatus } from '../../contract/preflight/runs.ts';
import { InProcessAgents } from '../../testbed/in-process-agents.ts';
import { type PytorchJobOptions, pytorchJob } from '../../testbed/job-manifests.ts';
import { createJob } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { awaitTesters, leave, measured, testsFirst, type Tester } from '../../testbed/preflight.ts';
import type { RawReport, MeasureTruth } from '../../testbed/preflight-measures.ts';
import { until } from '../../testbed/until.ts';
import type { LiveJob, LiveKcover } from './live-kcover.ts';

/** A job that has not begun to train. */
export interface TestedJob extends LiveJob {
  /** By rank. */
  readonly testers: readonly Tester[];
}

/** The subject of a collection: a job, or a workload that kcover does not know. */
type CollectedJob = Pick<LiveJob, 'namespace' | 'name' | 'uid'>;

/** Agents with short intervals, because a test waits for them. */
const eager = { preflight: { every: '200ms' }, heartbeat: '1s' } as const;

export class LivePreflight {
  readonly live: LiveKcover;
  readonly agents: InProcessAgents;
  readonly #jobs: TestedJob[] = [];

  /** For a kcover without agents of its own: all of them run in this process. */
  constructor(live: LiveKcover) {
    this.live = live;
    this.agents = new InProcessAgents(live.cluster, live.kcover, eager);
  }

  /** A PyTorchJob of this many pods in a namespace of its own; resolves when their preflight containers run. */
  async job({ pods, ...options }: Pick<PytorchJobOptions, 'labels'> & { readonly pods: number }): Promise<TestedJob> {
    const { api, nodes } = this.live.cluster;
    const since = new Date();
    const namespace = `train-${randomUUID().slice(0, 8)}`;
    await api.core.createNamespace({ body: { metadata: { name: namespace } } });
    const name = `llm-${randomUUID().slice(0, 8)}`;
    const created = await createJob(api, pytorchJob({ name, namespace, workers: pods - 1, ...testsFirst, ...options }));
    const testers = await awaitTesters(api, nodes, created);
    const job = {
      ...created,
      testers,
      first: testers.map(({ pod }) => pod),
      nodes: testers.map((tester) => this.nodeOf(tester)),
      since,
    };
    this.#jobs.push(job);
    return job;
  }

  nodeOf({ node }: Pick<Tester, 'node'>): SimulatedNode {
    const found = this.live.cluster.nodes.find(({ name }) => name === node);
    if (!found) throw new Error(`there is no node ${node}`);
    return found;
  }

  /** Waits for the next pods of the job, which test their nodes. */
  async nextPods(job: TestedJob): Promise<TestedJob> {
    const testers = await awaitTesters(this.live.cluster.api, this.live.cluster.nodes, job, uidsOf(job.first));
    return {
      ...job,
      testers,
      first: testers.map(({ pod }) => pod),
      nodes: testers.map((tester) => this.nodeOf(tester)),
    };
  }

  /** All containers write their measurements and end, except for the ranks in `without`. */
  async end(job: TestedJob, truth: MeasureTruth, without: readonly number[] = []): Promise<readonly RawReport[]> {
    const reports = measured(job, job.testers, truth).filter(({ rank }) => !without.includes(rank));
    await leave(this.live.cluster.api, job, job.testers, reports);
    return reports;
  }

  /** With a deadline long enough for a worker that was just started and must replay first. */
  status(job: CollectedJob): Promise<PreflightStatus> {
    const { temporal } = this.live;
    const handle = temporal.workflow.getHandle(preflightWorkflowId(job));
    return temporal
      .withDeadline(Date.now() + 15_000, () => handle.query<PreflightStatus>(statusQuery))
      .catch((error: unknown) => {
        const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
        throw new Error(`${error instanceof Error ? error.message : String(error)}${cause}`, { cause: error });
      });
  }

  /** Waits until the collection is as wanted; `wanted` returns what is missing, or undefined. */
  async is(job: CollectedJob, wanted: (status: PreflightStatus) => string | undefined): Promise<PreflightStatus> {
    return until(`preflight of ${job.name}`, 120_000, async () => {
      const status = await this.status(job);
      const missing = wanted(status);
      return missing === undefined
        ? { found: status }
        : { missing: `${missing}; ${JSON.stringify({ ...status, workload: undefined })}` };
    });
  }

  /** Waits for the verdict of a run. */
  async verdict(job: CollectedJob, run = 1): Promise<PreflightRun> {
    const { last } = await this.is(job, (status) =>
      (status.last?.run ?? 0) >= run ? undefined : `no verdict on run ${run}`,
    );
    if (last === undefined) throw new Error('no run has ended');
    return last;
  }

  /** Number of signals with reports that its workflow has received. */
  async signalled(job: TestedJob): Promise<number> {
    const { events } = await this.live.temporal.workflow.getHandle(preflightWorkflowId(job)).fetchHistory();
    return (events ?? []).filter(
      ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === signals.reportsArrived,
    ).length;
  }

  /** How often a node was quarantined. */
  quarantines(node: string): number {
    return this.live.recorder.quarantines().filter((span) => span.node === node).length;
  }

  /** Ends every job and releases every node. */
  async clear(): Promise<void> {
    await Promise.all(this.#jobs.splice(0).map((job) => this.live.end(job)));
    await this.live.clear();
  }

  async close(): Promise<void> {
    await this.agents.stop();
    await this.live.close();
  }
}

const uidsOf = (pods: readonly V1Pod[]): Set<string> => new Set(pods.map(({ metadata }) => metadata?.uid ?? ''));
