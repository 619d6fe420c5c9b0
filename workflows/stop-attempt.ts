/** One stop, brought to its end: what nobody ends any more is deleted by force, after that intent stands in history. */

import type { AttemptPod } from '../contract/jobs.ts';
import type { RecoveryLimits, StopRequest, StopResult } from '../contract/recovery.ts';
import { counted, type IncidentMemory } from './incident-memory.ts';
import { perform } from './proxies.ts';
import type { Story } from './story.ts';

/** What a deletion by force has at least, however late it was decided. */
const leastStopMs = 60_000;

/** A node that comes and goes spares its pods and loses them again; so often, then a person. */
const mostRounds = 5;

interface Forcing {
  readonly pods: readonly AttemptPod[];
  readonly because: string;
  /** Whether or not a kubelet would still end them. */
  readonly noGrace?: true;
}

/** `until`, ms: when the whole stop must be over. Each round after the first forces what the one before found to be lost. */
export async function stopAttempt(
  request: StopRequest,
  { until, overtime }: { readonly until: number; readonly overtime: RecoveryLimits['overtime'] },
  memory: IncidentMemory,
  story: Story,
): Promise<Exclude<StopResult, { kind: 'lost' }>> {
  let result = await perform('stopAttempt', `stop attempt ${request.attempt} (${counted(request)}) by ${request.by}: ${request.because}`, request);
  let isOvertime = false;
  for (let round = 1; ; round++) {
    const forcing: Forcing | undefined = result.kind === 'lost' ? result : overtime === 'force' && !isOvertime ? overdue(request, result) : undefined;
    if (!forcing) break;
    isOvertime ||= forcing.noGrace === true;
    const { pods, because } = forcing;
    if (round > mostRounds) {
      return { kind: 'timed-out', because: `${because}; that was so ${round} times, and each time its node came back`, left: pods.map(({ name }) => name) };
    }
    memory.mayForce(pods);
    const doomed = counted({ pods });
    story.happened(`deleting ${doomed} by force${forcing.noGrace ? ', each when its own time to end is over' : ''}`, because);
    const deadlineMs = Math.max(leastStopMs, until - Date.now());
    const noGrace = forcing.noGrace && { noGrace: true as const, ...(request.noGrace ? {} : { overtime: true as const }) };
    result = await perform('stopAttempt', `delete ${doomed} by force: ${because}`, { ...request, ...noGrace, force: memory.forcedNow(), deadlineMs });
    memory.wasForced('forced' in result ? (result.forced ?? []) : []);
  }
  return result.kind === 'lost' ? { kind: 'timed-out', because: result.because, left: result.pods.map(({ name }) => name) } : result;
}

/** What its time to end was not enough for. Source: the grace-over-time of Ascend's Volcano plugin. */
function overdue({ pods, leaving = [] }: StopRequest, result: StopResult): Forcing | undefined {
  if (result.kind !== 'timed-out') return undefined;
  const left = new Set(result.left);
  return { pods: [...pods, ...leaving].filter(({ name }) => left.has(name)), because: result.because, noGrace: true };
}
