/** An open incident: its recovery is started, gets every fault, and is looked at when it has been silent. */

import { announceStuck, lookAtRecovery, signalRecovery, startRecovery } from './child.ts';
import type { JobContext } from './context.ts';
import { toForward } from './inbox.ts';
import { recoveryInputOf } from './incident-facts.ts';

/** Starts the recovery that was decided. */
export async function start({ job, machine, dispatch }: JobContext): Promise<void> {
  const { state } = machine;
  if (state.phase !== 'opening') return;
  await startRecovery(recoveryInputOf(job, state));
  dispatch({ kind: 'recoveryStarted', incident: state.open.incident });
}

/** Sends what the recovery does not have yet. Once it has ended, the faults stay with the job. */
export async function forward(context: JobContext, lookAnew = false): Promise<void> {
  const { machine, dispatch } = context;
  const { open } = machine.state;
  if (!open?.started) return;
  const { incident } = open;
  const faults = toForward(machine.state);
  // Before they are sent: a fault that changes meanwhile is sent again.
  if (faults.length > 0) dispatch({ kind: 'faultsForwarded', incident, ids: faults.map(({ id }) => id) });
  if (!(await signalRecovery(incident, faults, lookAnew))) await lookAtOpen(context, incident);
}

/** Whether the recovery still runs. Returns why it makes no progress, if so. */
export async function lookAtOpen(
  { job, machine, dispatch }: JobContext,
  incident: string,
): Promise<string | undefined> {
  const { report, stuck } = await lookAtRecovery(job, incident);
  if (report) {
    dispatch({ kind: 'recoveryEnded', report });
    return undefined;
  }
  if (stuck !== undefined && machine.state.phase !== 'stuck') announceStuck(job, incident, stuck);
  dispatch({ kind: 'recoverySeen', incident, stuck });
  return stuck;
}
