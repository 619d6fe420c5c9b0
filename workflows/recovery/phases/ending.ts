import { jobWorkflowId } from '../../../contract/ids.ts';
import { jobTitle } from '../../../contract/job/jobs.ts';
import { signals } from '../../../contract/wire/messages.ts';
import type { Effect } from '../effects.ts';
import { isGood } from '../end.ts';
import { recordOf, reportOf } from '../record.ts';
import { resume } from '../resume.ts';

/** However the recovery ended, kcover's own suspend is removed. */
export const ending: Effect<'ending'> = async (recovery, { input }) => {
  try {
    await resume(recovery);
    return { kind: 'settled' };
  } catch {
    return { kind: 'settled', failed: `it could not be resumed: look at spec.suspend of ${jobTitle(input.job)}` };
  }
};

/** The end is reported to the job, to the record store and to people. */
export const recording: Effect<'recording'> = async (recovery, state) => {
  const { tools } = recovery;
  const { outcome, because } = state.end;
  // The job is notified first, in a task of its own: its next incident must not wait for a slow record store, or for a record that Temporal rejects.
  await tools.signal(jobWorkflowId(state.input.job), signals.recoveryEnded, reportOf(state));
  const isGoodEnd = isGood(state.end);
  const reason =
    outcome === 'refused'
      ? 'recoveryRefused'
      : outcome === 'recovered'
        ? 'recovered'
        : isGoodEnd
          ? 'restarted'
          : 'recoveryEnded';
  recovery.announce(isGoodEnd || outcome === 'cancelled' ? 'Normal' : 'Warning', reason, `${outcome}: ${because}`);
  await tools.perform('recordIncident', `keep the record: ${outcome}`, recordOf(state)).catch(() => undefined);
  await tools.allAnnounced();
  return { kind: 'recorded' };
};
