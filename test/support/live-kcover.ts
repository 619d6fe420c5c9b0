/** All of kcover on real servers, observed from outside: jobs to break, records to wait for, facts to check. */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { jobWorkflowId, labels, nodeWorkflowId } from '../../contract/ids.ts';
import { statusQuery, updates } from '../../contract/wire/messages.ts';
import type { NodeRecord } from '../../contract/node/nodes.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import type { AttachedTestCluster } from '../../testbed/attach.ts';
import { readWrites, type Write } from '../../testbed/audit.ts';
import { type JobManifest, type PytorchJobOptions, pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, placeOf, podsOf, type RunningJob } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { compileCache } from '../../testbed/parts/environment.ts';
import { type Kcover, type KcoverOptions, startKcover } from '../../testbed/roles.ts';
import { until } from '../../testbed/until.ts';
import { type ClusterRecorder, completed, startClusterRecorder } from './cluster-recorder.ts';
import { ourWrites, type RunFacts, deletedByKubelet } from './invariants.ts';

/** A line that makes a GPU unusable. */
export const xid79 = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';
export const optIn = { [labels.cascadingRecovery]: 'true' } as const;

/** A running job, with its first pods. */
export interface LiveJob extends RunningJob {
  readonly first: readonly V1Pod[];
  /** Nodes of its first pods, in order. */
  readonly nodes: readonly SimulatedNode[];
  readonly since: Date;
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Started {
  readonly ended: Promise<Ran>;
  /** What it has printed so far. */
  printed(): string;
  signal(signal: NodeJS.Signals): void;
}

const program = fileURLToPath(new URL('../../bin/kcover.js', import.meta.url));

/** Short pauses between recoveries, and limits that no test reaches. */
export const quick = {
  quarantine: { limit: { atLeast: 12 } },
  preflight: { limit: { percent: 100, perNamespace: 12 } },
  recovery: { budget: { recoveries: 50, backoff: { first: '100ms', most: '1s' } } },
} as const;
/** A killed controller leaves its Lease behind, and the next one waits for its expiry. With a much shorter Lease a busy test machine loses it. */
export const shortLease = { leaderElection: { lease: '6s', renew: '5s', retry: '1s' } } as const;

export class LiveKcover {
  readonly cluster: AttachedTestCluster;
  readonly kcover: Kcover;
  readonly temporal: Client;
  readonly recorder: ClusterRecorder;
  readonly #jobs: LiveJob[] = [];

  constructor(cluster: AttachedTestCluster, kcover: Kcover, temporal: Client, recorder: ClusterRecorder) {
    this.cluster = cluster;
    this.kcover = kcover;
    this.temporal = temporal;
    this.recorder = recorder;
  }

  /** Agents run in the process of the test unless it wants to kill one. */
  static async start(cluster: AttachedTestCluster, options: KcoverOptions = {}): Promise<LiveKcover> {
    const connection = await Connection.connect({ address: cluster.temporal.address });
    const temporal = new Client({ connection, namespace: cluster.temporal.namespace });
    await endLeftovers(temporal, cluster);
    const kcover = await startKcover(cluster, {
      mode: 'act',
      agents: 'in-process',
      workerSettings: quick,
      controllerSettings: shortLease,
      ...options,
    });
    return new LiveKcover(cluster, kcover, temporal, await startClusterRecorder(cluster.kubernetes.kubeconfig));
  }

  /** A PyTorchJob of one master and this many workers in a namespace of its own, opted in by default; resolves when it runs. */
  pytorch(options: Partial<PytorchJobOptions> = {}): Promise<LiveJob> {
    return this.run((namespace) =>
      pytorchJob({ name: `llm-${randomUUID().slice(0, 8)}`, workers: 1, labels: optIn, ...options, namespace }),
    );
  }

  /** In a namespace of its own, or in that of another job. */
  async run(manifest: (namespace: string) => JobManifest, beside?: LiveJob): Promise<LiveJob> {
    const { api } = this.cluster;
    const namespace = beside?.namespace ?? `train-${randomUUID().slice(0, 8)}`;
    if (!beside) await api.core.createNamespace({ body: { metadata: { name: namespace } } });
    const since = new Date();
    const job = await createJob(api, manifest(namespace));
    const first = await awaitRunning(api, job);
    const live = { ...job, first, nodes: this.#nodesUnder(first), since };
    this.#jobs.push(live);
    return live;
  }

  /** The job once it has no open incident and no node of it is being judged: another test may have broken one just before. */
  async standing(job: LiveJob): Promise<LiveJob> {
    return until(`${job.namespace}/${job.name} on healthy nodes`, 180_000, async () => {
      await this.settled(job, { incidents: 0 });
      const first = await podsOf(this.cluster.api, job);
      const nodes = this.#nodesUnder(first);
      const judged = (await Promise.all(nodes.map((node) => this.#judgedNow(node)))).find(
        (because) => because !== undefined,
      );
      return judged === undefined ? { found: { ...job, first, nodes } } : { missing: judged };
    });
  }

  /** The status of a node's workflow that is not finished; a node that is only watched is healthy. */
  async #judgedNow({ name }: SimulatedNode): Promise<string | undefined> {
    if (!(await this.isOpen(nodeWorkflowId(name)))) return undefined;
    const { phase, because } = await this.temporal.withDeadline(Date.now() + 3000, () =>
      this.temporal.workflow.getHandle(nodeWorkflowId(name)).query<NodeStatus>(statusQuery),
    );
    return phase === 'watching' ? undefined : `${name} is ${phase}: ${because}`;
  }

  /** Changes with everything that reaches a workflow; empty while it has never run. */
  async revisionOf(workflowId: string): Promise<string> {
    try {
      const { runId, historyLength } = await this.temporal.workflow.getHandle(workflowId).describe();
      return `${runId}/${historyLength}`;
    } catch {
      return '';
    }
  }

  #nodesUnder(pods: readonly V1Pod[]): SimulatedNode[] {
    return pods.flatMap((pod) => this.cluster.nodes.find(({ name }) => name === pod.spec?.nodeName) ?? []);
  }

  /** Whether a workflow runs; asks only Temporal. */
  async isOpen(workflowId: string): Promise<boolean> {
    try {
      return (await this.temporal.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
    } catch {
      return false;
    }
  }

  /**
   * Waits until all pods of the job run and nothing is open about it any more. A pod on a quarantined node counts as open, because its node may have
   * broken after the pod was bound; unless the job `stays`.
   */
  async settled(
    job: LiveJob,
    { incidents = 1, withinMs = 120_000, stays = false } = {},
  ): Promise<readonly IncidentRecord[]> {
    return until(`${job.namespace}/${job.name} settled`, withinMs, async () => {
      const records = this.records(job);
      if (records.length < incidents)
        return { missing: `${records.length} of ${incidents} records; ${await this.#describeProgress(job)}` };
      const [{ phase, because, waitingFor }, recoveries] = await Promise.all([this.status(job), this.recoveries(job)]);
      if (phase !== 'watching') return { missing: `its workflow is ${phase}: ${because}; waits for ${waitingFor}` };
      if (recoveries.length !== records.length)
        return { missing: `${recoveries.length} recoveries, ${records.length} records` };
      const alive = this.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
      const ready = alive.filter((pod) => pod.ready).length;
      const misplaced = stays
        ? undefined
        : alive.find(({ node }) => node !== undefined && this.recorder.isQuarantined(node));
      if (misplaced) return { missing: `pod ${misplaced.name} is on ${misplaced.node}, which is quarantined` };
      return ready === job.pods && alive.length === job.pods
        ? { found: records }
        : { missing: `${alive.length} pods, ${ready} ready, of ${job.pods}` };
    });
  }

  /** The states of the workflows and of the cluster, for the error when a test does not progress. */
  async #describeProgress(job: LiveJob): Promise<string> {
    const said = async (workflowId: string): Promise<string> => {
      try {
        const handle = this.temporal.workflow.getHandle(workflowId);
        const { phase, because, waitingFor } = await this.temporal.withDeadline(Date.now() + 3000, () =>
          handle.query<Pick<JobStatus, 'phase' | 'because' | 'waitingFor'>>(statusQuery),
        );
        return `${workflowId} is ${phase}: ${because}; waits for ${waitingFor}`;
      } catch (error) {
        return `${workflowId}: ${error instanceof Error ? error.message : String(error)}`;
      }
    };
    const incident = await this.status(job).then(
      (status) => status.incident,
      () => undefined,
    );
    const pods = this.recorder
      .podsOf(job)
      .map(({ name, node, ready, gone }) => `${name} on ${node ?? 'no node'}${gone ? ' gone' : ready ? ' ready' : ''}`);
    const nodes = job.nodes.map(({ name }) => nodeWorkflowId(name));
    return [
      ...(await Promise.all([jobWorkflowId(job), ...(incident ? [incident] : []), ...nodes].map(said))),
      ...pods,
    ].join('\n           ');
  }

  status(job: LiveJob): Promise<JobStatus> {
    return this.temporal.withDeadline(Date.now() + 3000, () =>
      this.temporal.workflow.getHandle(jobWorkflowId(job)).query<JobStatus>(statusQuery),
    );
  }

  /** Ids of the recoveries that the job's workflow started, from its history. */
  async recoveries(job: LiveJob): Promise<string[]> {
    const { events } = await this.temporal.workflow.getHandle(jobWorkflowId(job)).fetchHistory();
    return (events ?? []).flatMap(
      (event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId ?? [],
    );
  }

  /** Oldest first. */
  records(job: Pick<LiveJob, 'uid'>): IncidentRecord[] {
    return jsonFiles(this.kcover.records)
      .filter((file) => file.includes(job.uid))
      .map((file) => JSON.parse(readFileSync(file, 'utf8')) as IncidentRecord | NodeRecord)
      .filter((record): record is IncidentRecord => 'job' in record && record.job.uid === job.uid)
      .toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
  }

  /** Changes by kcover since then, without token reviews and the leader label of its own pods; Events and Leases are not logged. */
  async writes(since: Date): Promise<Write[]> {
    const writes = ourWrites(await readWrites(this.cluster.kubernetes.auditLog, since));
    return writes.filter(
      ({ resource, namespace }) => resource !== 'tokenreviews' && !(resource === 'pods' && namespace === ownNamespace),
    );
  }

  async facts(job: LiveJob): Promise<RunFacts> {
    const [all, recoveries] = await Promise.all([
      readWrites(this.cluster.kubernetes.auditLog, job.since),
      this.recoveries(job),
    ]);
    return {
      job,
      writes: ourWrites(all),
      deletedByKubelet: deletedByKubelet(all),
      recoveries,
      pods: completed(this.recorder.podsOf(job), all),
      quarantines: this.recorder.quarantines(),
      records: this.records(job),
      suspended: this.recorder.isSuspended(job),
    };
  }

  /** Events that kcover wrote about an object. */
  async events(about: {
    readonly namespace?: string;
    readonly uid?: string;
    readonly name: string;
  }): Promise<CoreV1Event[]> {
    const { items } = await this.cluster.api.core.listNamespacedEvent({ namespace: about.namespace ?? 'default' });
    return items.filter(
      ({ source, involvedObject }) =>
        source?.component === 'kcover' &&
        involvedObject.name === about.name &&
        (about.uid === undefined || involvedObject.uid === about.uid),
    );
  }

  event(
    about: { readonly namespace?: string; readonly uid?: string; readonly name: string },
    reason: string,
    says: RegExp = /./,
  ): Promise<CoreV1Event> {
    return until(`Event ${reason} on ${about.name}`, 60_000, async () => {
      const events = await this.events(about);
      const found = events.find((event) => event.reason === reason && says.test(event.message ?? ''));
      return found
        ? { found }
        : { missing: `Events: ${events.map((event) => `${event.reason}: ${event.message}`).join('; ') || 'none'}` };
    });
  }

  /** Runs the program as an administrator of the test cluster would. */
  runCli(...args: string[]): Promise<Ran> {
    return this.startCli(...args).ended;
  }

  /** The same, for a program that a signal ends. */
  startCli(...args: string[]): Started {
    const child = spawn(process.execPath, [program, ...args], {
      env: {
        ...compileCache(),
        PATH: process.env['PATH'],
        HOME: this.cluster.directory,
        USER: 'ada',
        ...this.kcover.environment,
      },
    });
    child.stdin.end();
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (stdout += piece));
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
    const ended = Promise.all([text(child.stderr), closed]).then(([stderr, code]) => ({ code, stdout, stderr }));
    return { ended, printed: () => stdout, signal: (signal) => void child.kill(signal) };
  }

  quarantined(node: SimulatedNode): Promise<void> {
    return this.recorder.seen(`quarantine of ${node.name}`, 60_000, () => this.recorder.isQuarantined(node.name));
  }

  /** Releases a node, if it is quarantined. */
  async release(node: Pick<SimulatedNode, 'name'>): Promise<void> {
    if (!this.recorder.isQuarantined(node.name)) return;
    const handle = this.temporal.workflow.getHandle(nodeWorkflowId(node.name));
    await handle.executeUpdate(updates.release, { args: [{ by: 'test', reason: 'the test is over' }] });
    await handle.result();
    await this.recorder.seen(`${node.name} is back`, 60_000, () => !this.recorder.isQuarantined(node.name));
  }

  /** Deletes a job and waits until its pods and its workflow have ended. */
  async end(job: LiveJob): Promise<void> {
    const { api } = this.cluster;
    await api.custom
      .deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' })
      .catch(ignoreGone);
    await until(`pods of ${job.name} gone`, 60_000, async () => {
      const left = await podsOf(api, job);
      return left.length === 0 ? { found: true } : { missing: `${left.length} left` };
    });
  }

  /** Ends every job and releases every node. */
  async clear(): Promise<void> {
    await Promise.all(this.#jobs.splice(0).map((job) => this.end(job)));
    for (const node of this.cluster.nodes) {
      await this.release(node);
      // A workflow that only watches would run for another hour.
      if (await this.isOpen(nodeWorkflowId(node.name)))
        await this.temporal.workflow.getHandle(nodeWorkflowId(node.name)).terminate('the test is over');
    }
  }

  async close(): Promise<void> {
    await this.kcover.stop();
    await this.recorder.close();
    await this.temporal.connection.close();
  }
}

/** Other test files share nodes and Temporal, and some leave a workflow without a worker: a node's would never answer. */
async function endLeftovers(temporal: Client, cluster: AttachedTestCluster): Promise<void> {
  const listed: string[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query: "ExecutionStatus = 'Running'" }))
    listed.push(workflowId);
  // By name too: a list may not show yet what was just started.
  for (const workflowId of new Set([...listed, ...cluster.nodes.map(({ name }) => nodeWorkflowId(name))])) {
    await temporal.workflow
      .getHandle(workflowId)
      .terminate('left by another test file')
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
  }
}

function jsonFiles(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.json'))
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function ignoreGone(error: { readonly code?: number }): void {
  if (error.code !== 404) throw error;
}
