/** Incidents from Temporal: recoveries from their input and result, quarantines from the input and the records of the node's workflow. */

import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { nodeWorkflowId, searchAttributes, workflowTypes } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { NodeInput, NodeRecord } from '../../contract/node/nodes.ts';
import type { IncidentRecord, RecoveryInput, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import type { RemedyProgress } from '../../contract/remedy/remedy.ts';
import { quoted } from '../../contract/wire/visibility.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import type { NodeState } from '../../workflows/node/state.ts';
import { askTemporal } from '../clients/temporal.ts';
import { attribute, listWorkflows, statusOf, unlessGone } from '../clients/workflows.ts';
import {
  causeOf,
  fromRecord,
  machineOf,
  type IncidentSummary,
  nodesOf,
  quarantineOf,
  settleQuarantines,
  type IncidentFilter,
} from './incident.ts';

const atOnce = 8;
const nodeKey = defineSearchAttributeKey('KcoverNode', searchAttributes.KcoverNode);

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
type Payloads = Parameters<typeof decodeArrayFromPayloads>[1];

const stillThere = (since: number): string =>
  `(ExecutionStatus = 'Running' OR CloseTime > '${new Date(since).toISOString()}')`;

/** The newest `limit` recoveries. */
export async function recoveriesInTemporal(
  client: Client,
  { since, namespace, job, node }: IncidentFilter,
  limit: number,
): Promise<readonly IncidentSummary[]> {
  const query = [
    `WorkflowType = '${workflowTypes.recovery}'`,
    stillThere(since),
    ...(namespace === undefined ? [] : [`KcoverNamespace = ${quoted(namespace)}`]),
    ...(job === undefined ? [] : [`KcoverJob = ${quoted(job.split('/')[1] ?? job)}`]),
    ...(node === undefined ? [] : [`KcoverNode = ${quoted(node)}`]),
  ];
  const found = await listWorkflows(client, query.join(' AND '));
  const read = (info: WorkflowExecutionInfo) =>
    onceClosed(client, info, async () => [await readRecovery(client, info)]);
  return (await inParallel(found.slice(0, limit), read, atOnce)).flat();
}

/** What closed runs were read as: they no longer change, and `--watch` lists them every few seconds. */
const readBefore = new WeakMap<Client, Map<string, readonly IncidentSummary[]>>();

async function onceClosed(
  client: Client,
  { runId, closeTime }: WorkflowExecutionInfo,
  read: () => Promise<readonly IncidentSummary[]>,
): Promise<readonly IncidentSummary[]> {
  if (closeTime === undefined) return read();
  const known = readBefore.get(client) ?? new Map<string, readonly IncidentSummary[]>();
  readBefore.set(client, known);
  const found = known.get(runId) ?? (await read());
  known.set(runId, found);
  return found;
}

async function readRecovery(client: Client, info: WorkflowExecutionInfo): Promise<IncidentSummary> {
  const { workflowId, runId, startTime, closeTime, status } = info;
  const input = await unlessGone(readStart(client, workflowId, runId));
  const closed =
    closeTime === undefined
      ? undefined
      : ((await unlessGone(howItClosed(client, workflowId, status.name))) ?? forgotten);
  const phase = attribute(info, 'KcoverPhase');
  const cause = [phase, input && causeOf(input)].filter((part) => part !== undefined).join('; ');
  return {
    incident: workflowId,
    kind: 'recovery',
    namespace: input?.job.namespace ?? workflowId.split('/')[1] ?? '',
    about: input ? jobTitle(input.job) : (workflowId.split('/')[2] ?? ''),
    nodes: info.typedSearchAttributes.get(nodeKey) ?? nodesOf(input?.faults ?? []),
    startedAt: startTime.toISOString(),
    endedAt: closeTime?.toISOString() ?? null,
    outcome: closed?.outcome ?? 'open',
    because: closed?.because ?? cause,
    by: input?.askedBy?.by ?? 'kcover',
    endedBecause: null,
  };
}

/** Visibility is eventually consistent, so a listed workflow may already be deleted. */
const forgotten = { outcome: 'unknown', because: 'Temporal no longer has its history' } as const;

/** Outcome of a closed recovery. One that was terminated or cancelled has no result. */
const howItClosed = (
  client: Client,
  workflowId: string,
  status: WorkflowExecutionInfo['status']['name'],
): Promise<Pick<RecoveryOutcome, 'outcome' | 'because'>> =>
  status === 'COMPLETED'
    ? askTemporal(client, `read how ${workflowId} ended`, () =>
        client.workflow.getHandle<() => Promise<RecoveryOutcome>>(workflowId).result(),
      )
    : Promise.resolve({
        outcome: status === 'CANCELLED' ? 'cancelled' : 'failed',
        because: `it was ${status.toLowerCase()} before it could report`,
      });

/** Input of a recovery; undefined when Temporal no longer has its history. */
export async function readStart(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<RecoveryInput | undefined> {
  const { history } = await askTemporal(client, `read how ${workflowId} began`, () =>
    client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, ...(runId !== undefined && { runId }) },
      maximumPageSize: 1,
    }),
  );
  return decoded<RecoveryInput>(client, history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads);
}

/** Quarantines of all nodes, or of one. */
export async function quarantinesInTemporal(
  client: Client,
  { since, node }: Pick<IncidentFilter, 'since' | 'node'>,
): Promise<readonly IncidentSummary[]> {
  const which = node === undefined ? '' : ` AND WorkflowId = ${quoted(nodeWorkflowId(node))}`;
  const runs = await listWorkflows(
    client,
    `WorkflowType = '${workflowTypes.nodeQuarantine}' AND ${stillThere(since)}${which}`,
  );
  const read = (run: WorkflowExecutionInfo) => onceClosed(client, run, () => readRun(client, run));
  const found = (await inParallel(runs, read, atOnce)).flat();
  const running = new Set(runs.filter(({ status }) => status.name === 'RUNNING').map(({ workflowId }) => workflowId));
  const nodes = new Set(found.map(({ about }) => about));
  return [...nodes].flatMap((name) =>
    settleQuarantines(
      found.filter(({ about }) => about === name),
      running.has(nodeWorkflowId(name)),
    ),
  );
}

/** What the repair of a node does now; undefined where none is known. */
export async function progressOfNode(client: Client, node: string): Promise<RemedyProgress | undefined> {
  const status = await statusOf(client, 'nodeQuarantine', nodeWorkflowId(node)).catch(() => undefined);
  return status?.remedy;
}

/** Payloads of the input of one run, followed by those of each of its records. */
async function readRun(
  client: Client,
  { workflowId, runId }: WorkflowExecutionInfo,
): Promise<readonly IncidentSummary[]> {
  const history = await unlessGone(
    askTemporal(client, `read ${workflowId}`, () => client.workflow.getHandle(workflowId, runId).fetchHistory()),
  );
  if (history === undefined) return [];
  const input = await decoded<NodeInput & { readonly state?: NodeState }>(
    client,
    history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads,
  );
  const continued = input?.state?.quarantine;
  const records = await Promise.all(recordsIn(history).map((payloads) => decoded<NodeRecord>(client, payloads)));
  return [
    ...(input && continued
      ? [{ ...quarantineOf(input.node, continued, undefined), ...machineOf(input.state?.view?.systemUuid) }]
      : []),
    ...records.flatMap((record) => (record ? [fromRecord(record)] : [])),
  ];
}

/** The record that a recovery wrote at its end; undefined while it is open, or when Temporal has no such recovery. */
export async function recordInTemporal(client: Client, incident: string): Promise<IncidentRecord | undefined> {
  const history = await unlessGone(
    askTemporal(client, `read ${incident}`, () => client.workflow.getHandle(incident).fetchHistory()),
  );
  return history && decoded<IncidentRecord>(client, recordsIn(history).at(-1));
}

/** Arguments of every `recordIncident`. */
const recordsIn = ({ events }: History): readonly Payloads[] =>
  (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
    scheduled?.activityType?.name === 'recordIncident' ? [scheduled.input?.payloads] : [],
  );

async function decoded<T>(client: Client, payloads: Payloads): Promise<T | undefined> {
  const [first] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads);
  return first as T | undefined;
}
