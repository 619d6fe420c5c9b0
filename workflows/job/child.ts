/** A recovery as its job sees it: start it, signal what arrived, check whether it still runs. */

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { getExternalWorkflowHandle, startChild } from '@temporalio/workflow';
import type { Fault } from '../../contract/faults/faults.ts';
import { eventReasons } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import { type OperatorRequest, signals } from '../../contract/wire/messages.ts';
import type { RecoveryInput, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import { attributePairs } from '../attributes.ts';
import { nodesOf } from '../faults.ts';
import { announce, perform, short, tolerate } from '../proxies.ts';
import { recovery } from '../recovery/index.ts';
import { firstAttributes } from '../recovery/status.ts';
import { howToEnd } from './status.ts';

/** Starts it, or finds it started. It outlives a continue-as-new of the job's workflow. */
export async function startRecovery(input: RecoveryInput): Promise<void> {
  const { incident, job, faults } = input;
  try {
    await startChild(recovery, {
      workflowId: incident,
      args: [input],
      parentClosePolicy: 'ABANDON',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: short(`recover ${jobTitle(job)}: ${faults[0]?.message ?? ''}`),
      typedSearchAttributes: attributePairs({
        KcoverNamespace: job.namespace,
        KcoverJob: job.name,
        ...firstAttributes,
        KcoverFault: faults[0]?.code ?? 'operator/recover',
        KcoverNode: nodesOf(faults).slice(0, 20),
      }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** False when it has ended: the faults then stay with the job. */
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

/** A recovery that has just ended does not receive it, which is fine. */
export async function signalPause(incident: string, paused: OperatorRequest | undefined): Promise<void> {
  await getExternalWorkflowHandle(incident)
    .signal(signals.jobPaused, paused ? { paused } : {})
    .catch(() => undefined);
}

/** Its report when it closed, in whichever way. A closed one may have left the job suspended: the job is resumed. `stuck`: it runs, but makes no progress. */
export async function lookAtRecovery(
  job: JobRef,
  incident: string,
): Promise<{ readonly report?: RecoveryOutcome; readonly stuck?: string }> {
  const seen = await perform('lookAtRecovery', 'is it still running?', { incident });
  if (seen.kind === 'running') return seen.stuck === undefined ? {} : { stuck: seen.stuck };
  await tolerate(perform('resumeJob', 'resume what a lost recovery may have left suspended', { job, incident }));
  return { report: seen.report };
}

export function announceStuck(job: JobRef, incident: string, because: string): void {
  const message = `${incident} makes no progress: ${because}; the job may stay suspended. Repair the worker, or: ${howToEnd(incident)}`;
  void announce({
    about: { kind: 'job', job },
    type: 'Warning',
    reason: eventReasons.recoveryStuck,
    message,
    key: `${incident}/stuck`,
  });
}
