/** Waits until training passes the last step before the fault. */

import { Context } from '@temporalio/activity';
import type { JobView } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { AskedRestart } from '../../contract/progress/restart.ts';
import type { VerifyRequest, VerifyResult } from '../../contract/recovery/verification.ts';
import { whyEnded } from '../../kube/jobs/attempt-progress.ts';
import { awaitJob, type LookResult } from '../../kube/jobs/wait.ts';
import { observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import { judgeProgress, type ProgressObservations, foldProgress } from '../../policy/progress/progress.ts';
import { answersInWords, answersTo } from '../../policy/progress/restart.ts';
import type { Dependencies } from '../dependencies.ts';
import { reportInHeartbeats } from '../heartbeats.ts';

export async function verifyProgress(
  { kube, settings, now }: Dependencies,
  request: VerifyRequest,
): Promise<VerifyResult> {
  const { info, cancellationSignal: signal } = Context.current();
  // From the schedule, so that a later try does not start over.
  const startedAt = info.scheduledTimestampMs;
  const clock = observationClock(now, startedAt, observedOf(info.heartbeatDetails));
  let seen = seenBefore(info.heartbeatDetails);
  let restart: AskedRestart | undefined;

  const judge = (progress?: JobProgress): LookResult<VerifyResult> => {
    const decision = judgeProgress({ request, progress, seen, startedAt, lateFrom: clock.lateFrom }, clock.time());
    if (decision.kind === 'wait') return decision;
    const { because } = decision;
    const said = request.asked !== undefined && { answers: answersInWords(answersTo(request.asked, restart)) };
    if (decision.kind === 'verified' && seen)
      return { answer: { kind: 'verified', progress: seen.last, because, ...said } };
    const moves = decision.kind === 'unverified' && decision.moves === true && { moves: true as const };
    return { answer: { kind: 'unverified', ...(seen && { progress: seen.last }), ...moves, because, ...said } };
  };
  const look = (job: JobView | undefined): LookResult<VerifyResult> => {
    seen = foldProgress(seen, job?.progress, request, clock.time());
    restart = job?.restart ?? restart;
    const end = endOf(job, request, seen);
    if (end) return { answer: end };
    const answers = answersTo(request.asked, restart);
    if (answers.refused)
      return { answer: { kind: 'unverified', because: 'a rank refused', answers: answersInWords(answers) } };
    return judge(job?.progress);
  };

  reportInHeartbeats(() => ({ seen, clock: clock.observed() }));
  return awaitJob({ kube, job: request.job, clock, signal }, settings.quarantine.taint, look, judge);
}

/**
 * A job that finished after its restart has moved on as far as possible. Where pods were deleted under its running controller, that deletion
 * may have ended it: then only a step beyond the last one proves that it trained.
 */
function endOf(
  job: JobView | undefined,
  { stoppedBy, beyond }: VerifyRequest,
  seen: ProgressObservations | undefined,
): Ended | undefined {
  const end = whyEnded(job, stoppedBy);
  const proven = end?.outcome === 'restarted' || (seen !== undefined && seen.last.step > beyond);
  return end && job?.finished?.as === 'succeeded' && proven
    ? { ...end, outcome: 'recovered', because: `training came to its end after the restart: ${job.finished.because}` }
    : end;
}

type Ended = Extract<VerifyResult, { kind: 'ended' }>;

/** Heartbeat details of an earlier try. */
function seenBefore(details: unknown): ProgressObservations | undefined {
  const { seen } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly seen?: ProgressObservations;
  };
  return typeof seen?.movedAt === 'number' && typeof seen.last?.step === 'number' && Array.isArray(seen.pace)
    ? seen
    : undefined;
}
