/** What the history of a job's workflow says that it knows: pure. */

import type { Fault } from '../../contract/faults.ts';
import type { Held, RecoveryInput, RecoveryOutcome } from '../../contract/recovery.ts';
import type { JobInput, Spent } from '../../contract/training-job.ts';
import type { Known } from './facts.ts';

/** One thing that reached a workflow, or that it did. `at`: ms. */
export type Moment = { readonly at: number } & (
  | { readonly kind: 'faults'; readonly faults: readonly Fault[] }
  | { readonly kind: 'paused'; readonly by: Held | undefined }
  | { readonly kind: 'began'; readonly incident: string }
  | { readonly kind: 'ended'; readonly report: RecoveryOutcome }
  | { readonly kind: 'stopped' }
);

/** Everything that the job's workflow was told and no recovery took into account; and the recovery that is open, if one is. */
export function foldJob(input: JobInput | undefined, moments: readonly Moment[]): Omit<Known, 'open' | 'answered'> & { readonly open?: string } {
  const { carried } = input ?? {};
  const waiting = new Map(carried?.inbox.map((fault) => [fault.id, fault]));
  const gone = new Set(carried?.seen);
  let spent: readonly Spent[] = carried?.spent ?? [];
  let open = carried?.open?.started === true ? carried.open.incident : undefined;
  let { attemptStartedAt, paused } = carried ?? {};
  for (const moment of moments) {
    switch (moment.kind) {
      case 'faults':
        for (const fault of moment.faults) if (!gone.has(fault.id)) waiting.set(fault.id, merged(waiting.get(fault.id), fault));
        break;
      case 'paused':
        paused = moment.by;
        break;
      case 'began':
        open = moment.incident;
        spent = [...spent, { incident: moment.incident, startedAt: moment.at }];
        break;
      case 'ended': {
        const { report } = moment;
        for (const id of report.faults) {
          waiting.delete(id);
          gone.add(id);
        }
        spent = spent.flatMap((one) => (one.incident === report.incident ? ended(one, report, moment.at) : [one]));
        if (open === report.incident) open = undefined;
        attemptStartedAt = report.attemptStartedAt ?? attemptStartedAt;
        break;
      }
      case 'stopped':
    }
  }
  return {
    fresh: [...waiting.values()],
    spent,
    ...(attemptStartedAt !== undefined && { attemptStartedAt }),
    ...(paused && { paused }),
    ...(open !== undefined && { open }),
  };
}

/** The faults of an open recovery: what came before its last stop was answered by it. */
export function foldRecovery(
  input: RecoveryInput,
  moments: readonly Moment[],
): Pick<Known, 'fresh' | 'answered'> & { readonly open: NonNullable<Known['open']> } {
  const faults = new Map(input.faults.map((fault) => [fault.id, fault]));
  const answered = new Set<string>();
  let stops = 0;
  for (const moment of moments) {
    if (moment.kind === 'faults') for (const fault of moment.faults) faults.set(fault.id, merged(faults.get(fault.id), fault));
    if (moment.kind !== 'stopped') continue;
    stops += 1;
    for (const id of faults.keys()) answered.add(id);
  }
  const { incident, limits, askedBy } = input;
  return {
    fresh: [...faults.values()].filter(({ id }) => !answered.has(id)),
    answered: [...faults.values()].filter(({ id }) => answered.has(id)),
    open: { incident, stops, attempts: limits.attempts, asked: askedBy !== undefined },
  };
}

/** A fault that is told again brings the newer word of its node. */
const merged = (before: Fault | undefined, fault: Fault): Fault => (before?.hold && !fault.hold ? { ...fault, hold: before.hold } : fault);

/** A recovery that began no stop spent nothing. */
function ended(one: Spent, { begun, blame, before }: RecoveryOutcome, at: number): Spent[] {
  if (begun === 0) return [];
  const { step, checkpointStep } = before ?? {};
  return [{ ...one, endedAt: at, ...(blame && { blame }), ...(step !== undefined && { step }), ...(checkpointStep !== undefined && { checkpointStep }) }];
}
