/** Waits for a checkpoint, and asks processes to start training anew by themselves. */

import { Context } from '@temporalio/activity';
import type { Activities } from '../contract/activities.ts';
import { annotations } from '../contract/ids.ts';
import type { JobView } from '../contract/jobs.ts';
import type { CheckpointRequest, CheckpointResult } from '../contract/recovery-plan.ts';
import { whyEnded } from '../kube/attempt-progress.ts';
import { sightMs } from '../kube/attempts.ts';
import { awaitJob, type Looked } from '../kube/job-wait.ts';
import { annotateJob } from '../kube/jobs.ts';
import { judgeCheckpoint, type NewsSeen, seeNews } from '../policy/checkpoint.ts';
import type { Dependencies } from './dependencies.ts';
import { tellInHeartbeats } from './heartbeats.ts';

export const checkpointActivities = (dependencies: Dependencies): Pick<Activities, 'awaitCheckpoint' | 'askProcesses'> => ({
  awaitCheckpoint: (request) => awaitCheckpoint(dependencies, request),
  askProcesses: ({ incident, job, attempt }) => annotateJob(dependencies.kube, job, { [annotations.restartInProcess]: `${incident}#${attempt}` }),
});

async function awaitCheckpoint({ kube, settings, now }: Dependencies, request: CheckpointRequest): Promise<CheckpointResult> {
  const { info, cancellationSignal: signal } = Context.current();
  // From the schedule, so that a later try does not begin anew; but who comes late looks for a while before anybody else is late.
  const startedAt = info.scheduledTimestampMs;
  const cameLate = info.attempt > 1 || now() > startedAt + sightMs;
  const lookedFrom = cameLate ? now() + sightMs : 0;
  let news = newsBefore(info.heartbeatDetails);

  const look = (job: JobView | undefined, lateFrom: number): Looked<CheckpointResult> => {
    const end = whyEnded(job);
    // Nothing has been restarted yet.
    if (end) return { answer: { ...end, outcome: end.outcome === 'restarted' ? 'cancelled' : end.outcome } };
    news = seeNews(news, job?.progress, now());
    const decision = judgeCheckpoint({ request, news, startedAt, lateFrom: Math.max(lateFrom, lookedFrom) }, now());
    return decision.kind === 'wait' ? decision : { answer: { ...decision, waitedMs: Math.max(0, now() - startedAt) } };
  };

  tellInHeartbeats(() => ({ news }));
  return awaitJob({ kube, job: request.job, now, signal }, settings.quarantine.taint, look);
}

/** Heartbeat details of an earlier try. */
function newsBefore(details: unknown): NewsSeen | undefined {
  const { news } = (typeof details === 'object' && details !== null ? details : {}) as { readonly news?: NewsSeen };
  return typeof news?.at === 'number' && typeof news.progress?.step === 'number' ? news : undefined;
}
