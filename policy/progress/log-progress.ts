/** The progress of a job from the logs of several of its ranks: one prints the steps, and another may print the checkpoints. Pure. */

import type { LogReport } from '../../contract/progress/logs.ts';
import type { Progress } from '../../contract/progress/progress.ts';
import { isResting } from './pace.ts';

/** What the log of one rank of the present attempt says. */
export interface RankLog {
  readonly rank: number;
  /** Absent while it has said nothing. */
  readonly report?: LogReport;
}

export interface LoggedProgress<Log extends RankLog> {
  /** The log that has the steps: that of the lowest rank which prints them. */
  readonly from: Log;
  readonly progress: Progress;
}

/** Undefined while no log has a step. */
export function progressOfLogs<Log extends RankLog>(logs: readonly Log[]): LoggedProgress<Log> | undefined {
  const [from] = logs.filter(({ report }) => report?.step !== undefined).toSorted((a, b) => a.rank - b.rank);
  const { step, stepAt } = from?.report ?? {};
  if (from === undefined || step === undefined || stepAt === undefined) return undefined;
  const checkpoint = newestCheckpoint(logs);
  // A step whose checkpoint is complete is done, also where the steps are printed less often.
  const isAhead = checkpoint !== undefined && checkpoint.step > step && !isBefore(checkpoint.at, stepAt);
  const done = isAhead ? checkpoint : { step, at: stepAt };
  const resting = logs.find(
    ({ report }) => isResting(report?.phase) && report?.phaseAt !== undefined && !isBefore(report.phaseAt, done.at),
  );
  return {
    from,
    progress: {
      ...done,
      ...(checkpoint && { checkpointStep: Math.min(checkpoint.step, done.step), checkpointAt: checkpoint.at }),
      phase: resting?.report?.phase ?? 'training',
    },
  };
}

const isBefore = (a: string, b: string): boolean => Date.parse(a) < Date.parse(b);

function newestCheckpoint(logs: readonly RankLog[]): { readonly step: number; readonly at: string } | undefined {
  const saved = logs.flatMap(({ report: { checkpointStep: step, checkpointAt: at } = {} }) =>
    step === undefined || at === undefined ? [] : [{ step, at }],
  );
  return saved.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))[0];
}
