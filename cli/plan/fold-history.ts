/** Derives the state of a job's workflow from its history, by what the workflow itself does with each message. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { JobInput } from '../../contract/job/training-job.ts';
import type { RecoveryInput, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import { arrived } from '../../workflows/job/inbox.ts';
import { incidentOf, reported, started } from '../../workflows/job/incident.ts';
import { firstState, type JobData, type JobState } from '../../workflows/job/state.ts';
import { firstIncident, handledFaults, unhandled, withFaults, withHandled } from '../../workflows/recovery/incident.ts';
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
export type JobRunInput = JobInput & { readonly state?: JobState };

/** Faults that no recovery has taken into account, budget usage, pause, and the id of the open recovery. */
export function foldJob(
  input: JobRunInput | undefined,
  entries: readonly HistoryEntry[],
): Omit<KnownFacts, 'open' | 'handled'> & { readonly open?: string } {
  const { inbox, usage, attemptStartedAt, paused, open } = entries.reduce<JobData>(
    afterEntry,
    input?.state ?? firstState(0),
  );
  return {
    fresh: inbox,
    usage,
    ...(attemptStartedAt !== undefined && { attemptStartedAt }),
    ...(paused && { paused }),
    ...(open?.started === true && { open: open.incident }),
  };
}

function afterEntry(state: JobData, entry: HistoryEntry): JobData {
  switch (entry.kind) {
    case 'faults':
      return arrived(state, { faults: entry.faults, dropped: 0 }, entry.at);
    case 'paused':
      return { ...state, paused: entry.by };
    case 'began':
      return started(state, incidentOf(entry.incident, entry.at, undefined));
    case 'ended':
      return reported(state, entry.report, entry.at);
    case 'stopped':
      return state;
  }
}

/** Faults of an open recovery: those before its last stop count as handled. */
export function foldRecovery(
  input: RecoveryInput,
  entries: readonly HistoryEntry[],
): Pick<KnownFacts, 'fresh' | 'handled'> & { readonly open: NonNullable<KnownFacts['open']> } {
  let state = firstIncident(input, 0);
  for (const entry of entries) {
    if (entry.kind === 'faults') state = withFaults(state, entry.faults, entry.at);
    if (entry.kind === 'stopped')
      state = withHandled(
        state,
        state.faults.map(({ id }) => id),
      );
  }
  const { incident, limits, askedBy } = input;
  const stops = entries.filter(({ kind }) => kind === 'stopped').length;
  return {
    fresh: unhandled(state),
    handled: handledFaults(state),
    open: { incident, stops, attempts: limits.attempts, asked: askedBy !== undefined },
  };
}
