/** Looks for recoveries among Temporal's workflows, and notifies waiting ones. */

import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, WorkflowNotFoundError } from '@temporalio/common';
import type { Activities } from '../contract/wire/activities.ts';
import { type JobRef } from '../contract/job/jobs.ts';
import { recoveryIdPrefix, searchAttributes, workflowTypes } from '../contract/ids.ts';
import { signals } from '../contract/wire/messages.ts';
import type { Outcome } from '../contract/recovery/outcomes.ts';
import type { RecoveryOutcome } from '../contract/recovery/recovery.ts';
import type { BudgetEntry } from '../contract/job/training-job.ts';
import { quoted } from '../contract/wire/visibility.ts';
import { inParallel } from '../kube/client/parallel.ts';
import type { Dependencies } from './dependencies.ts';

const outcomeKey = defineSearchAttributeKey('KcoverOutcome', searchAttributes.KcoverOutcome);

/** A worker that dies or restarts costs a workflow task an attempt or two. */
const mostTaskAttempts = 5;

/** Time-out of one signal, ms: one that hangs must not take the others' time. */
const signalMs = 5000;

type Incidents = Pick<Activities, 'findRecoveries' | 'lookAtRecovery' | 'notifyWaiting'>;

export function incidentActivities({
  settings,
  temporal,
  now,
  log,
}: Pick<Dependencies, 'settings' | 'temporal' | 'now' | 'log'>): Incidents {
  return {
    findRecoveries: async ({ job }) => {
      const found: WorkflowExecutionInfo[] = [];
      for await (const execution of temporal().workflow.list({
        query: recoveriesQuery(job, now() - settings.recovery.budget.window),
      }))
        found.push(execution);
      const open = found.find((each) => each.status.name === 'RUNNING');
      return {
        usage: found.filter((each) => outcomeOf(each) !== 'refused').map(budgetEntryOf),
        ...(open && { open: open.workflowId }),
      };
    },
    lookAtRecovery: ({ incident }) => lookAtRecovery(temporal(), incident),
    notifyWaiting: async ({ workflowIds }) => {
      await inParallel(workflowIds, async (workflowId) => {
        try {
          await temporal().withDeadline(now() + signalMs, () =>
            temporal().workflow.getHandle(workflowId).signal(signals.recheck),
          );
        } catch (error) {
          // A closed workflow needs no notification; one that cannot be notified asks again by itself.
          if (!(error instanceof WorkflowNotFoundError))
            log.warn({ workflowId, error }, 'could not notify that a reservation may be available');
        }
      });
    },
  };
}

/** Recoveries that count against the budget, and those still running, however old. */
const recoveriesQuery = (job: JobRef, since: number): string =>
  [
    `WorkflowType = '${workflowTypes.recovery}'`,
    `WorkflowId STARTS_WITH ${quoted(recoveryIdPrefix(job))}`,
    `(StartTime > '${new Date(since).toISOString()}' OR ExecutionStatus = 'Running')`,
  ].join(' AND ');

/** A refused recovery has begun no stop. */
const outcomeOf = ({ typedSearchAttributes }: WorkflowExecutionInfo): string | undefined =>
  typedSearchAttributes.get(outcomeKey);

const budgetEntryOf = ({ workflowId, startTime, closeTime }: WorkflowExecutionInfo): BudgetEntry => ({
  incident: workflowId,
  startedAt: startTime.getTime(),
  ...(closeTime && { endedAt: closeTime.getTime() }),
});

async function lookAtRecovery(client: Client, incident: string): ReturnType<Incidents['lookAtRecovery']> {
  const handle = client.workflow.getHandle<() => Promise<RecoveryOutcome>>(incident);
  try {
    const { status, raw } = await handle.describe();
    if (status.name === 'RUNNING') return { kind: 'running', ...stuckness(raw.pendingWorkflowTask?.attempt ?? 0) };
    if (status.name === 'COMPLETED') return { kind: 'closed', report: await handle.result() };
    return closed(
      incident,
      status.name === 'CANCELLED' ? 'cancelled' : 'failed',
      `the recovery was ${status.name.toLowerCase().replaceAll('_', ' ')} before it could report`,
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return closed(incident, 'failed', 'Temporal knows no such recovery');
    throw error;
  }
}

/** Temporal retries a failed workflow task without end: a defect, a payload that is too large, code that takes another path. */
const stuckness = (attempt: number): { stuck?: string } =>
  attempt > mostTaskAttempts
    ? { stuck: `its workflow task failed ${attempt - 1} times in a row: the worker's log says why` }
    : {};

/** As far as is known it took no fault into account, so all of them stay with the job; whether it began a stop is unknown. */
const closed = (
  incident: string,
  outcome: Outcome,
  because: string,
): Awaited<ReturnType<Incidents['lookAtRecovery']>> => ({
  kind: 'closed',
  report: { incident, outcome, because, stops: 0, faults: [] },
});
