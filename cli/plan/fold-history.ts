/** Derives the state of a job's workflow from its history. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { RecoveryInput, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import type { JobInput, BudgetEntry } from '../../contract/job/training-job.ts';
import type { JobState } from '../../workflows/job/state.ts';
import type { KnownFacts } from './facts.ts';

/** A message to a workflow, or a step that it took. `at`: ms. */
export type HistoryEntry = { readonly at: number } & (
  | { readonly kind: 'faults'; readonly faults: readonly Fault[] }
  | { readonly kind: 'paused'; readonly by: OperatorRequest | undefined }
  | { readonly kind: 'began'; readonly incident: string }
  | { readonly kind: 'ended'; readonly report: RecoveryOutcome }
  | { readonly kind: 'stopped' }
);

/** What a run of the job's workflow is started with: the state, where it continues an earlier run. */
export type JobRunInput = JobInput & {
  readonly state?: Pick<JobState, 'inbox' | 'seen' | 'usage' | 'open' | 'attemptStartedAt' | 'paused' | 'historyUntil'>;
};

/** Faults that no recovery has taken into account, budget usage, pause, and the id of the open recovery. */
export function foldJob(
  input: JobRunInput | undefined,
  entries: readonly HistoryEntry[],
): Omit<KnownFacts, 'open' | 'handled'> & { readonly open?: string } {
  const continued = input?.state;
  const waiting = new Map(continued?.inbox.map((fault) => [fault.id, fault]));
  const gone = new Set(continued?.seen);
  let usage: readonly BudgetEntry[] = continued?.usage ?? [];
  let open = continued?.open?.started === true ? continued.open.incident : undefined;
  let { attemptStartedAt, paused } = continued ?? {};
  for (const entry of entries) {
    switch (entry.kind) {
      case 'faults':
        for (const fault of entry.faults)
          if (!gone.has(fault.id)) waiting.set(fault.id, merged(waiting.get(fault.id), fault));
        break;
      case 'paused':
        paused = entry.by;
        break;
      case 'began':
        open = entry.incident;
        usage = [...usage, { incident: entry.incident, startedAt: entry.at }];
        break;
      case 'ended': {
        const { report } = entry;
        for (const id of report.faults) {
          waiting.delete(id);
          gone.add(id);
        }
        usage = usage.flatMap((one) => (one.incident === report.incident ? ended(one, report, entry.at) : [one]));
        if (open === report.incident) open = undefined;
        attemptStartedAt = report.attemptStartedAt ?? attemptStartedAt;
        break;
      }
      case 'stopped':
    }
  }
  return {
    fresh: [...waiting.values()],
    usage,
    ...(attemptStartedAt !== undefined && { attemptStartedAt }),
    ...(paused && { paused }),
    ...(open !== undefined && { open }),
  };
}

/** Faults of an open recovery: those before its last stop count as handled. */
export function foldRecovery(
  input: RecoveryInput,
  entries: readonly HistoryEntry[],
): Pick<KnownFacts, 'fresh' | 'handled'> & { readonly open: NonNullable<KnownFacts['open']> } {
  const faults = new Map(input.faults.map((fault) => [fault.id, fault]));
  const handled = new Set<string>();
  let stops = 0;
  for (const entry of entries) {
    if (entry.kind === 'faults')
      for (const fault of entry.faults) faults.set(fault.id, merged(faults.get(fault.id), fault));
    if (entry.kind !== 'stopped') continue;
    stops += 1;
    for (const id of faults.keys()) handled.add(id);
  }
  const { incident, limits, askedBy } = input;
  return {
    fresh: [...faults.values()].filter(({ id }) => !handled.has(id)),
    handled: [...faults.values()].filter(({ id }) => handled.has(id)),
    open: { incident, stops, attempts: limits.attempts, asked: askedBy !== undefined },
  };
}

/** A repeated fault replaces the earlier one, but keeps its quarantine status if it has none of its own. */
const merged = (before: Fault | undefined, fault: Fault): Fault =>
  before?.quarantine && !fault.quarantine ? { ...fault, quarantine: before.quarantine } : fault;

/** The budget entry of a recovery that has ended; none when it started no stop. */
function ended(one: BudgetEntry, { stopsStarted, blame, before }: RecoveryOutcome, at: number): BudgetEntry[] {
  if (stopsStarted === 0) return [];
  const { step, checkpointStep } = before ?? {};
  return [
    {
      ...one,
      endedAt: at,
      ...(blame && { blame }),
      ...(step !== undefined && { step }),
      ...(checkpointStep !== undefined && { checkpointStep }),
    },
  ];
}
