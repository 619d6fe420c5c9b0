/** Waits for a checkpoint, and asks processes to restart training by themselves. */

import { Context } from '@temporalio/activity';
import type { Activities } from '../../contract/wire/activities.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import { restartId, restartLimits } from '../../contract/progress/restart.ts';
import type { CheckpointRequest, CheckpointResult } from '../../contract/recovery/plan.ts';
import { oneLine } from '../../contract/text.ts';
import { whyEnded } from '../../kube/jobs/attempt-progress.ts';
import { awaitJob, type LookResult } from '../../kube/jobs/wait.ts';
import { askRestart } from '../../kube/jobs/jobs.ts';
import { observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import { judgeCheckpoint, type LatestProgress, latestOf } from '../../policy/recovery/checkpoint.ts';
import type { Dependencies } from '../dependencies.ts';
import { reportInHeartbeats } from '../heartbeats.ts';

export const checkpointActivities = (
  dependencies: Dependencies,
): Pick<Activities, 'awaitCheckpoint' | 'askProcesses'> => ({
  awaitCheckpoint: (request) => awaitCheckpoint(dependencies, request),
  askProcesses: ({ incident, job, attempt, reason, askedAt, deadline }) =>
    askRestart(dependencies.kube, job, {
      id: restartId(incident, attempt),
      reason: oneLine(reason, restartLimits.reason),
      askedAt,
      deadline,
    }),
});

async function awaitCheckpoint(
  { kube, settings, now }: Dependencies,
  request: CheckpointRequest,
): Promise<CheckpointResult> {
  const { info, cancellationSignal: signal } = Context.current();
  // From the schedule, so that a later try does not start over.
  const startedAt = info.scheduledTimestampMs;
  const clock = observationClock(now, startedAt, observedOf(info.heartbeatDetails));
  let latest = latestBefore(info.heartbeatDetails);

  const judge = (): LookResult<CheckpointResult> => {
    const decision = judgeCheckpoint({ request, latest, startedAt, lateFrom: clock.lateFrom }, clock.time());
    return decision.kind === 'wait' ? decision : { answer: { ...decision, waitedMs: Math.max(0, now() - startedAt) } };
  };
  const look = (job: JobView | undefined): LookResult<CheckpointResult> => {
    const end = whyEnded(job);
    // Nothing has been restarted yet.
    if (end) return { answer: { ...end, outcome: end.outcome === 'restarted' ? 'cancelled' : end.outcome } };
    latest = latestOf(latest, job?.progress, clock.time());
    return judge();
  };

  reportInHeartbeats(() => ({ latest, clock: clock.observed() }));
  return awaitJob({ kube, job: request.job, clock, signal }, settings.quarantine.taint, look, judge);
}

/** Heartbeat details of an earlier try. */
function latestBefore(details: unknown): LatestProgress | undefined {
  const { latest } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly latest?: LatestProgress;
  };
  return typeof latest?.at === 'number' && typeof latest.progress?.step === 'number' ? latest : undefined;
}
