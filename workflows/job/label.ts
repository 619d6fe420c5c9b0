/** The need-recovery label: it is removed before anything is done for it, and when it asks for what already happens. */

import { eventReasons } from '../../contract/ids.ts';
import { announce, perform, tolerate } from '../proxies.ts';
import type { JobContext } from './context.ts';

export async function takeLabel(context: JobContext): Promise<void> {
  await removeLabel(context, 'before acting on it');
  context.dispatch({ kind: 'labelRemovalEnded' });
}

/** Only the end of this run waits for it: a pause or a fault may come at any time. */
export async function refuseLabel(context: JobContext): Promise<void> {
  const { job, machine, dispatch } = context;
  const incident = machine.state.open?.incident ?? machine.state.last?.incident ?? '';
  const message = `already recovering, the label was removed: ${incident}`;
  const event = {
    about: { kind: 'job', job },
    type: 'Normal',
    reason: eventReasons.recoveryRefused,
    message,
    key: `${job.uid}/${incident}/label`,
  } as const;
  const isRemoved = await removeLabel(context, 'a recovery is under way, which is what it asks for').catch(() => false);
  if (isRemoved) void announce(event);
  // After the Event was begun: the run must not end between the two.
  dispatch({ kind: 'labelRemovalEnded' });
}

/** False when it could not be removed. */
async function removeLabel({ job, dispatch }: JobContext, because: string): Promise<boolean> {
  dispatch({ kind: 'labelRemovalBegan' });
  const removed = perform('removeRecoveryLabel', `remove the need-recovery label: ${because}`, { job }).then(
    () => true,
  );
  return (await tolerate(removed)) === true;
}
