/** One stop, brought to its end: what nobody ends any more is deleted by force, after that intent stands in history. */

import type { StopRequest, StopResult } from '../contract/recovery.ts';
import { counted, type IncidentMemory } from './incident-memory.ts';
import { perform } from './proxies.ts';
import type { Story } from './story.ts';

/** What a deletion by force has at least, however late it was decided. */
const leastStopMs = 60_000;

/** A node that comes and goes spares its pods and loses them again; so often, then a person. */
const mostRounds = 5;

/** `until`, ms: when the whole stop must be over. Each round after the first forces what the one before found to be lost. */
export async function stopAttempt(request: StopRequest, until: number, memory: IncidentMemory, story: Story): Promise<Exclude<StopResult, { kind: 'lost' }>> {
  let result = await perform('stopAttempt', `stop attempt ${request.attempt} (${counted(request.pods)}) by ${request.by}: ${request.because}`, request);
  for (let round = 1; result.kind === 'lost'; round++) {
    const { pods, because } = result;
    if (round > mostRounds) {
      return { kind: 'timed-out', because: `${because}; that was so ${round} times, and each time its node came back`, left: pods.map(({ name }) => name) };
    }
    memory.mayForce(pods);
    story.happened(`deleting ${counted(pods)} by force`, because);
    const deadlineMs = Math.max(leastStopMs, until - Date.now());
    result = await perform('stopAttempt', `delete ${counted(pods)} by force: ${because}`, { ...request, force: memory.forcedNow(), deadlineMs });
    memory.wasForced(result.kind === 'interfered' ? [] : (result.forced ?? []));
  }
  return result;
}
