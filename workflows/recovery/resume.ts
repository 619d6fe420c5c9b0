/** Removes kcover's own suspend, if there may be one, however long that takes; people are notified when it takes long. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { Recovery } from './effects.ts';

/** When people are first notified that a job is not resumed yet, ms; then after twice as long, up to the maximum. */
const firstNoticeMs = 30_000;
const mostPauseMs = 3_600_000;

export async function resume(recovery: Recovery): Promise<void> {
  const { tools } = recovery;
  const { suspended, input } = recovery.state;
  if (!suspended) return;
  const { job, incident } = input;
  await tools.alongside(
    async () => {
      await tools.perform('resumeJob', 'let the next attempt be created', { job, incident });
      recovery.dispatch({ kind: 'resumed' });
    },
    () => reportDelay(recovery),
  );
}

/** Repeats until it is cancelled. */
async function reportDelay(recovery: Recovery): Promise<void> {
  const { tools } = recovery;
  const startedAt = tools.now();
  const job = jobTitle(recovery.state.input.job);
  for (let pause = firstNoticeMs; ; pause = Math.min(2 * pause, mostPauseMs)) {
    await tools.wait(() => false, pause, 'the job should be resumed by now');
    const because = `${job} is still suspended by kcover, which has tried to resume it for ${formatDuration(tools.now() - startedAt)} and goes on trying`;
    recovery.dispatch({ kind: 'happened', what: 'not resumed yet', because });
    recovery.announce('Warning', 'resumeDelayed', because);
  }
}
