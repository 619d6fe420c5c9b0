/** A recovery as its job sees it: start it, tell it what arrived, look whether it still runs. */

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { getExternalWorkflowHandle, startChild } from '@temporalio/workflow';
import type { Fault } from '../contract/faults.ts';
import { eventReasons } from '../contract/ids.ts';
import { type JobRef, jobTitle } from '../contract/jobs.ts';
import { type OperatorRequest, signals } from '../contract/messages.ts';
import type { RecoveryLimits, RecoveryOutcome } from '../contract/recovery.ts';
import type { OpenIncident } from '../contract/training-job.ts';
import { attributePairs } from './attributes.ts';
import { nodesOf } from './faults.ts';
import { announce, perform, short, tolerate } from './proxies.ts';
import { recovery } from './recovery.ts';
import { firstPhase } from './timeline.ts';

/** Starts it, or finds it started. It lives on when the job's workflow continues as new. */
export async function startRecovery(
  job: JobRef,
  open: OpenIncident,
  faults: readonly Fault[],
  limits: RecoveryLimits,
  paused?: OperatorRequest,
): Promise<void> {
  const { incident, askedBy } = open;
  try {
    await startChild(recovery, {
      workflowId: incident,
      args: [{ incident, job, faults, limits, ...(askedBy ? { askedBy } : {}), ...(paused ? { paused } : {}) }],
      parentClosePolicy: 'ABANDON',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: short(`recover ${jobTitle(job)}: ${faults[0]?.message ?? ''}`),
      typedSearchAttributes: attributePairs({
        KcoverNamespace: job.namespace,
        KcoverJob: job.name,
        ...firstPhase,
        KcoverFault: faults[0]?.code ?? 'operator/recover',
        KcoverNode: nodesOf(faults).slice(0, 20),
      }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** False when it is gone: what it was told stays with the job. */
export async function signalRecovery(incident: string, faults: readonly Fault[], lookAnew: boolean): Promise<boolean> {
  const child = getExternalWorkflowHandle(incident);
  try {
    if (faults.length > 0) await child.signal(signals.faultsObserved, { faults });
    if (lookAnew) await child.signal(signals.recheck);
    return true;
  } catch {
    return false;
  }
}

/** A recovery of an earlier version, or one that has just ended, does not hear it. */
export async function signalPause(incident: string, paused: OperatorRequest | undefined): Promise<void> {
  await getExternalWorkflowHandle(incident)
    .signal(signals.jobPaused, paused ? { paused } : {})
    .catch(() => undefined);
}

/** Its report when it closed, whichever way. One that must be looked for may have left the job suspended: that is taken off. `stuck`: it runs and does not get on. */
export async function lookAtRecovery(job: JobRef, incident: string): Promise<{ readonly report?: RecoveryOutcome; readonly stuck?: string }> {
  const seen = await perform('lookAtRecovery', 'is it still running?', { incident });
  if (seen.kind === 'running') return seen.stuck === undefined ? {} : { stuck: seen.stuck };
  await tolerate(perform('resumeJob', 'take off what a lost recovery may have left', { job, incident }));
  return { report: seen.report };
}

/** Ended by hand, it is looked after as one that closed without a report: the job is resumed, and its faults are judged anew. */
export const howToEnd = (incident: string): string => `temporal workflow terminate --workflow-id ${incident}`;

export function announceStuck(job: JobRef, incident: string, because: string): void {
  const message = `${incident} does not get on: ${because}; the job may stay suspended. Mend the worker, or: ${howToEnd(incident)}`;
  void announce({ about: { kind: 'job', job }, type: 'Warning', reason: eventReasons.recoveryStuck, message, key: `${incident}/stuck` });
}
