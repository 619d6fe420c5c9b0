/** Reads the state of a job's workflows from their histories, which works without a worker. */

import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { faultsBehindPods } from '../../activities/node/queries.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { clusterWorkflowId, jobWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import { type OperatorRequest, signals, updates } from '../../contract/wire/messages.ts';
import type { AttemptFacts, RecoveryInput, RecoveryOutcome, StopResult } from '../../contract/recovery/recovery.ts';
import { historyMs } from '../../contract/job/training-job.ts';
import { takeFaults } from '../../workflows/faults.ts';
import { askTemporal } from '../clients/temporal.ts';
import { statusOf, unlessGone } from '../clients/workflows.ts';
import type { KnownFacts } from './facts.ts';
import { foldJob, foldRecovery, type HistoryEntry, type JobRunInput } from './fold-history.ts';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
type Event = NonNullable<History['events']>[number];
type Payloads = Parameters<typeof decodeArrayFromPayloads>[1];

/** State of the job's workflow and its open recovery; undefined when the job has no workflow. */
export async function readKnown(client: Client, job: JobRef): Promise<KnownFacts | undefined> {
  const workflow = await unlessGone(readWorkflow<JobRunInput>(client, jobWorkflowId(job)));
  if (workflow === undefined) return undefined;
  const historyUntil = workflow.input?.state?.historyUntil ?? new Date(workflow.startedAt - historyMs).toISOString();
  const { open, ...known } = { ...foldJob(workflow.input, workflow.entries), historyUntil };
  const recovery = open === undefined ? undefined : await unlessGone(readWorkflow<RecoveryInput>(client, open));
  if (recovery?.input === undefined || recovery.closed) return { ...known, handled: [] };
  return { ...known, ...foldRecovery(recovery.input, recovery.entries) };
}

/** The pause of the whole cluster, and those of the nodes whose quarantine is not decided yet. */
export async function readHolds(
  client: Client,
  nodes: readonly string[],
): Promise<Pick<AttemptFacts, 'paused' | 'undecided'>> {
  const cluster = await unlessGone(statusOf(client, 'cluster', clusterWorkflowId));
  const judged = await Promise.all(
    nodes.map((node) => unlessGone(statusOf(client, 'nodeQuarantine', nodeWorkflowId(node)))),
  );
  const undecided = judged.flatMap((status) =>
    status?.phase === 'deciding' ? [{ node: status.node, because: status.because }] : [],
  );
  const { paused } = cluster ?? {};
  return { undecided, ...(paused && { paused: { by: paused.by, reason: paused.reason } }) };
}

/** Faults of nodes behind failures of pods, for which the job's workflow asks too, and the nodes whose workflows do not answer. */
export async function readFound(
  client: Client,
  faults: readonly Fault[],
): Promise<{ readonly found: readonly Fault[]; readonly unanswered: readonly string[] }> {
  const unanswered: string[] = [];
  const queries = { temporal: () => client, now: Date.now, unanswered: (node: string) => void unanswered.push(node) };
  return { found: await faultsBehindPods(queries, faults), unanswered };
}

interface Read<Input> {
  readonly input: Input | undefined;
  readonly entries: readonly HistoryEntry[];
  /** When this run began, ms. */
  readonly startedAt: number;
  readonly closed: boolean;
}

async function readWorkflow<Input>(client: Client, workflowId: string): Promise<Read<Input>> {
  const { events } = await askTemporal(client, `read ${workflowId}`, () =>
    client.workflow.getHandle(workflowId).fetchHistory(),
  );
  const all = events ?? [];
  const input = await decoded<Input>(client, all[0]?.workflowExecutionStartedEventAttributes?.input?.payloads);
  const stops = new Set(
    all.flatMap((event) =>
      event.activityTaskScheduledEventAttributes?.activityType?.name === 'stopAttempt' ? [String(event.eventId)] : [],
    ),
  );
  const entries: HistoryEntry[] = [];
  for (const event of all) {
    const entry = await entryOf(client, event, stops);
    if (entry) entries.push(entry);
  }
  return { input, entries, startedAt: all[0] ? timeOf(all[0]) : 0, closed: isClose(all.at(-1)) };
}

/** Whether the event closes the workflow, in whatever way. */
const isClose = (last: Event | undefined): boolean =>
  Boolean(
    last?.workflowExecutionCompletedEventAttributes ??
    last?.workflowExecutionFailedEventAttributes ??
    last?.workflowExecutionTimedOutEventAttributes ??
    last?.workflowExecutionCanceledEventAttributes ??
    last?.workflowExecutionTerminatedEventAttributes,
  );

/** `stops`: ids of the events that scheduled a stop. */
async function entryOf(client: Client, event: Event, stops: ReadonlySet<string>): Promise<HistoryEntry | undefined> {
  const at = timeOf(event);
  const began = event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId;
  if (began) return { at, kind: 'began', incident: began };
  const signalled = event.workflowExecutionSignaledEventAttributes;
  if (signalled) return signalEntry(client, at, signalled.signalName ?? '', signalled.input?.payloads);
  const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
  if (update?.name === updates.pause)
    return { at, kind: 'paused', by: await decoded<OperatorRequest>(client, update.args?.payloads) };
  if (update?.name === updates.resume) return { at, kind: 'paused', by: undefined };
  const done = event.activityTaskCompletedEventAttributes;
  if (done && stops.has(String(done.scheduledEventId)))
    return (await decoded<StopResult>(client, done.result?.payloads))?.kind === 'stopped'
      ? { at, kind: 'stopped' }
      : undefined;
  return undefined;
}

async function signalEntry(
  client: Client,
  at: number,
  name: string,
  payloads: Payloads,
): Promise<HistoryEntry | undefined> {
  if (name === signals.faultsObserved)
    return { at, kind: 'faults', faults: takeFaults(await decoded(client, payloads)).faults };
  if (name !== signals.recoveryEnded) return undefined;
  const report = await decoded<RecoveryOutcome>(client, payloads);
  return report && { at, kind: 'ended', report };
}

const timeOf = ({ eventTime }: Event): number =>
  Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1e6);

async function decoded<T>(client: Client, payloads: Payloads): Promise<T | undefined> {
  const [first] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads);
  return first as T | undefined;
}
