/** Whether a progress file counts, and which of its values: a tenant wrote it, by its own clock. Pure. */

import type { JobProgress, ProgressFile } from '../../contract/progress/progress.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

/** Contradictions. `clock`: an impossible time. `checkpoint-ahead`: a checkpoint of a step that is not done yet. */
export type Oddity = 'clock' | 'checkpoint-ahead';

export interface CountedProgress {
  readonly answer: 'counted';
  readonly pod: TrainingPod;
  readonly progress: JobProgress;
  readonly odd: readonly Oddity[];
}

export type ProgressFileDecision = CountedProgress | { readonly answer: 'no-pod' | 'not-started' | 'stale' };

/** Container times are whole seconds, ms. */
const slackMs = 1000;
/** How long after the file's own time its step may claim to be done: two clocks of one node may differ, ms. */
const leadMs = 60_000;
/** How far the clock of a node may be ahead of ours, ms. */
export const aheadMs = 5 * 60_000;

/** `pods`: those of the file's namespace, job and rank on the reporter's node that may still report. `now`: UTC, ms. */
export function decideProgress(file: ProgressFile, pods: readonly TrainingPod[], now: number): ProgressFileDecision {
  if (pods.length === 0) return { answer: 'no-pod' };
  const started = pods.flatMap((pod) =>
    pod.startedAt === undefined ? [] : [{ pod, from: Date.parse(pod.startedAt) - slackMs }],
  );
  if (started.length === 0) return { answer: 'not-started' };
  const writtenMs = Date.parse(file.writtenAt);
  // Of several, the last that had begun when the file was written.
  const [writer] = started.filter(({ from }) => from <= writtenMs).toSorted((a, b) => b.from - a.from);
  return writer ? { answer: 'counted', pod: writer.pod, ...believed(file, writer.from, now) } : { answer: 'stale' };
}

function believed(
  { progress, writtenAt }: ProgressFile,
  from: number,
  now: number,
): { progress: JobProgress; odd: readonly Oddity[] } {
  const { step, checkpointStep, phase } = progress;
  const at = Math.min(instantOf(Date.parse(progress.at), from, Date.parse(writtenAt)), now + aheadMs);
  const checkpoint = checkpointStep === undefined ? {} : { checkpointStep: Math.min(checkpointStep, step) };
  return {
    progress: { step, ...checkpoint, at: new Date(at).toISOString(), ...(phase && { phase }) },
    odd: [
      ...(at === Date.parse(progress.at) ? [] : ['clock' as const]),
      ...(checkpointStep !== undefined && checkpointStep > step ? ['checkpoint-ahead' as const] : []),
    ],
  };
}

/** A time before the container began, or after the file was written, is replaced by the file's own. */
const instantOf = (at: number, from: number, writtenMs: number): number =>
  at >= from && at <= writtenMs + leadMs ? at : writtenMs;
