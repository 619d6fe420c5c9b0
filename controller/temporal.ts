/** The controller's access to Temporal: calls as signal-with-start, and a few queries of what runs. */

import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import type { ClusterStatus } from '../contract/cluster.ts';
import { KcoverError } from '../contract/errors.ts';
import { clusterWorkflowId, nodeWorkflowId, type SearchAttribute, workflowTypes } from '../contract/ids.ts';
import { type NodeOutcome, type QuarantinedPhase, quarantinedPhases } from '../contract/node/nodes.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import { searchAttributePairs } from '../contract/wire/search-attributes.ts';
import { jobStart, nodeStart, preflightStart, type WorkflowStart } from '../contract/wire/starts.ts';
import type { Sender } from './outbox/outbox.ts';
import type { Addressee, Call } from './outbox/messages.ts';

export interface WorkflowsOptions {
  readonly client: Client;
  readonly calls: Calls;
  readonly taskQueue: string;
  /** Deadline of one request, ms. */
  readonly callMs?: number;
}

/**
 * Calls that are under way. One that is left behind when the connection closes would be tried again on the closed connection, outside of any promise.
 */
export interface Calls {
  /** Makes a call with a deadline, ms from now. */
  make<T>(withinMs: number, call: () => Promise<T>): Promise<T>;
  /** Gives up all calls, and resolves when they have ended; later ones throw. */
  end(): Promise<void>;
}

export function openCalls(client: Pick<Client, 'withDeadline' | 'withAbortSignal'>): Calls {
  const open = new Map<AbortController, Promise<unknown>>();
  let ended = false;
  return {
    async make(withinMs, call) {
      if (ended) throw new KcoverError('temporal.unreachable', 'this controller ends');
      // One signal for each: the client never stops listening to it.
      const over = new AbortController();
      const made = client.withDeadline(Date.now() + withinMs, () => client.withAbortSignal(over.signal, call));
      open.set(over, made);
      try {
        return await made;
      } finally {
        open.delete(over);
      }
    },
    async end() {
      ended = true;
      for (const over of open.keys()) over.abort();
      await Promise.allSettled(open.values());
    },
  };
}

/** State of the latest run of a node's workflow. */
export type LastRun =
  | { readonly state: 'none' }
  | { readonly state: 'running' }
  | { readonly state: 'closed'; readonly outcome?: NodeOutcome };

/** Reads workflows. Lists are eventually consistent; `lastRun` is not. */
export interface Workflows {
  runningJobs(): Promise<readonly string[]>;
  runningNodes(): Promise<readonly string[]>;
  runningPreflights(): Promise<readonly string[]>;
  /** Names of nodes that were quarantined when their Node object was deleted. */
  nodesGone(): Promise<readonly string[]>;
  lastRun(node: string): Promise<LastRun>;
  /** How many recoveries have not ended, by phase. */
  openRecoveries(): Promise<ReadonlyMap<string, number>>;
  /** How many storms are open. Without a worker, Temporal takes its time to say so. */
  openStorms(): Promise<number>;
  /** What is done with each quarantined node. */
  quarantinePhases(): Promise<ReadonlyMap<string, QuarantinedPhase>>;
}

/** Sends with a deadline; every failure is a `KcoverError` that may be retried. */
export function temporalSender({ client, calls, taskQueue, callMs = 5000 }: WorkflowsOptions): Sender {
  function startOf(to: Addressee) {
    switch (to.kind) {
      case 'job':
        return startOptions(jobStart(to.job, taskQueue));
      case 'node':
        return startOptions(nodeStart(to.node, taskQueue));
      case 'preflight':
        return startOptions(preflightStart(to.workload, taskQueue));
    }
  }

  async function call({ workflowId, starts, signal }: Call): Promise<unknown> {
    if (!signal) {
      if (!starts) return undefined;
      const { workflowType, ...options } = startOf(starts);
      return client.workflow.start(workflowType, { ...options, workflowIdConflictPolicy: 'USE_EXISTING' });
    }
    const signalArgs = signal.payload === undefined ? [] : [signal.payload];
    if (!starts) return client.workflow.getHandle(workflowId).signal(signal.name, ...signalArgs);
    const { workflowType, ...options } = startOf(starts);
    return client.workflow.signalWithStart(workflowType, { ...options, signal: signal.name, signalArgs });
  }

  return {
    async send(request) {
      try {
        await calls.make(callMs, () => call(request));
      } catch (error) {
        if (error instanceof WorkflowNotFoundError && !request.starts) return;
        throw temporalError(error, `signal ${request.workflowId}`);
      }
    },
  };
}

/** Reads with a deadline; every failure is a `KcoverError`. */
export function temporalWorkflows({ client, calls, callMs = 30_000 }: WorkflowsOptions): Workflows {
  const inTime = async <T>(doing: string, look: () => Promise<T>): Promise<T> => {
    try {
      return await calls.make(callMs, look);
    } catch (error) {
      throw temporalError(error, doing);
    }
  };
  const idsOf = (query: string) =>
    inTime('list workflows', async () => {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) ids.push(workflowId);
      return ids;
    });
  const nodesOf = async (query: string) => (await idsOf(query)).flatMap((id) => nodeOfWorkflow(id) ?? []);

  return {
    runningJobs: () => idsOf(`WorkflowType = '${workflowTypes.trainingJob}' AND ExecutionStatus = 'Running'`),
    runningPreflights: () => idsOf(`WorkflowType = '${workflowTypes.preflight}' AND ExecutionStatus = 'Running'`),
    runningNodes: () => nodesOf(`WorkflowType = '${workflowTypes.nodeQuarantine}' AND ExecutionStatus = 'Running'`),
    nodesGone: async () => [
      ...new Set(await nodesOf(`WorkflowType = '${workflowTypes.nodeQuarantine}' AND KcoverOutcome = 'gone'`)),
    ],
    lastRun: (node) => inTime(`look at node/${node}`, () => lastRun(client, node)),
    openRecoveries: () => inTime('count the open recoveries', () => openRecoveries(client)),
    openStorms: () => inTime('count the open storms', () => openStorms(client)),
    quarantinePhases: () => inTime('list the quarantines', () => quarantinePhases(client)),
  };
}

async function openRecoveries(client: Client): Promise<ReadonlyMap<string, number>> {
  const query = `WorkflowType = '${workflowTypes.recovery}' AND ExecutionStatus = 'Running'`;
  const counts = new Map<string, number>();
  for await (const { typedSearchAttributes } of client.workflow.list({ query, pageSize: 1000 })) {
    const phase = typedSearchAttributes.get(phaseKey) ?? 'unknown';
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return counts;
}

/** None where the workflow of the cluster does not run yet: it has recognised none. */
async function openStorms(client: Client): Promise<number> {
  try {
    return (await client.workflow.getHandle(clusterWorkflowId).query<ClusterStatus>(statusQuery)).storms.length;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 0;
    throw error;
  }
}

async function quarantinePhases(client: Client): Promise<ReadonlyMap<string, QuarantinedPhase>> {
  const query = `WorkflowType = '${workflowTypes.nodeQuarantine}' AND ExecutionStatus = 'Running'`;
  const found = new Map<string, QuarantinedPhase>();
  for await (const { workflowId, typedSearchAttributes } of client.workflow.list({ query, pageSize: 1000 })) {
    const node = nodeOfWorkflow(workflowId);
    const shown = typedSearchAttributes.get(phaseKey);
    const phase = quarantinedPhases.find((one) => one === shown);
    if (node !== undefined && phase) found.set(node, phase);
  }
  return found;
}

const phaseKey = defineSearchAttributeKey('KcoverPhase' satisfies SearchAttribute, 'KEYWORD');

async function lastRun(client: Client, node: string): Promise<LastRun> {
  try {
    const { status, runId } = await client.workflow.getHandle(nodeWorkflowId(node)).describe();
    if (status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW' || status.name === 'PAUSED')
      return { state: 'running' };
    if (status.name !== 'COMPLETED') return { state: 'closed' };
    const outcome: unknown = await client.workflow
      .getHandle(nodeWorkflowId(node), runId, { followRuns: false })
      .result();
    return isOutcome(outcome) ? { state: 'closed', outcome } : { state: 'closed' };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'none' };
    throw error;
  }
}

/** A result of another version is no outcome. */
const isOutcome = (value: unknown): value is NodeOutcome =>
  typeof value === 'object' &&
  value !== null &&
  'node' in value &&
  'outcome' in value &&
  typeof value.outcome === 'string';

const nodeOfWorkflow = (id: string): string | undefined => /^node\/([^/]+)$/.exec(id)?.[1];

function startOptions<Input>({ attributes, ...start }: WorkflowStart<Input>) {
  return { ...start, typedSearchAttributes: new TypedSearchAttributes(searchAttributePairs(attributes)) };
}

function temporalError(error: unknown, doing: string): KcoverError {
  if (error instanceof KcoverError) return error;
  // The client wraps gRPC errors: the innermost message is the server's.
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const said = inner instanceof Error ? inner.message : 'unknown failure';
  return new KcoverError('temporal.unreachable', `${doing}: ${said}`.slice(0, 300), { cause: error });
}
