/**
 * Recoveries of several nodes with one cause begin in waves: what they share, such as a store of checkpoints or the scheduler, is not asked for
 * everything at once, and the important jobs come first. Pure; times are milliseconds since the epoch.
 */

import type { WaveAnswer, WaveRequest, Wave, WaveRule } from '../../contract/cluster.ts';

export interface Waves {
  /** The last of them may still be joined. */
  readonly begun: readonly Wave[];
  /** Recoveries of the last wave. Some may not know it yet. */
  readonly members: readonly string[];
  readonly waiting: readonly WaitingRecovery[];
}

interface WaitingRecovery extends Pick<WaveRequest, 'recovery' | 'pods' | 'priority'> {
  readonly since: number;
  readonly askedAt: number;
}

/** Bounds. A recovery beyond that of `waiting` is not remembered until it asks again. */
const most = { begun: 20, waiting: 1000 } as const;

/** After so many waves a recovery comes before all that have waited for less, whatever their priority: none waits for ever. */
const agedAfter = 5;

/** A recovery that has not asked for so many waves has ended. */
const forgottenAfter = 2;

export const noWaves: Waves = { begun: [], members: [], waiting: [] };

/** Asking again in one wave changes nothing. */
export function joinWave(
  waves: Waves,
  { recovery, pods, priority, rule }: WaveRequest,
  now: number,
): { readonly answer: WaveAnswer; readonly waves: Waves } {
  const last = waves.begun.at(-1);
  const isOpen = last !== undefined && now < last.since + rule.everyMs;
  if (isOpen && waves.members.includes(recovery)) return { answer: { granted: true, wave: last.number }, waves };
  const since = waves.waiting.find((one) => one.recovery === recovery)?.since ?? now;
  const asking = { recovery, pods, priority, since, askedAt: now };
  const others = waves.waiting.filter(
    (one) => one.recovery !== recovery && now - one.askedAt <= forgottenAfter * rule.everyMs,
  );
  const ranked = [...others, asking].toSorted((a, b) => compare(a, b, rule, now));
  const before = isOpen ? last : { number: (last?.number ?? 0) + 1, since: now, pods: 0, recoveries: 0 };
  const next = fill(before, ranked, rule, isOpen ? asking : undefined);
  const members = [...(isOpen ? waves.members : []), ...next.joined.map((one) => one.recovery)];
  const after: Waves = {
    begun: [...(isOpen ? waves.begun.slice(0, -1) : waves.begun), next.wave].slice(-most.begun),
    members,
    waiting: ranked.filter((one) => !members.includes(one.recovery)).slice(0, most.waiting),
  };
  if (members.includes(recovery)) return { answer: { granted: true, wave: next.wave.number }, waves: after };
  return { answer: refusal(after, next.wave, asking, rule, now), waves: after };
}

/**
 * The first of those that wait join while they fit; none overtakes one that does not fit yet. A job that is larger than a wave has one of its own.
 * Where a wave has begun, only the one that asks may join it: the others ask when the next one begins.
 */
function fill(
  before: Wave,
  ranked: readonly WaitingRecovery[],
  { pods: size }: WaveRule,
  only?: WaitingRecovery,
): { readonly wave: Wave; readonly joined: readonly WaitingRecovery[] } {
  const joined: WaitingRecovery[] = [];
  let { pods, recoveries } = before;
  for (const one of ranked) {
    if (recoveries > 0 && pods + one.pods > size) break;
    if (only !== undefined && one !== only) break;
    joined.push(one);
    pods += one.pods;
    recoveries += 1;
    if (only !== undefined) break;
  }
  return { wave: { ...before, pods, recoveries }, joined };
}

/** The first to begin comes first: what has waited long, then the higher priority, then the larger job, which stands still at a higher price. */
function compare(a: WaitingRecovery, b: WaitingRecovery, { everyMs }: WaveRule, now: number): number {
  const isAged = (one: WaitingRecovery): boolean => now - one.since >= agedAfter * everyMs;
  if (isAged(a) !== isAged(b)) return isAged(a) ? -1 : 1;
  const byWait = a.since - b.since;
  return (isAged(a) && byWait) || b.priority - a.priority || b.pods - a.pods || byWait;
}

function refusal(
  { waiting }: Waves,
  wave: Wave,
  { recovery }: WaitingRecovery,
  { pods: size, everyMs }: WaveRule,
  now: number,
): WaveAnswer {
  const place = waiting.findIndex((one) => one.recovery === recovery);
  const ahead = place === -1 ? waiting : waiting.slice(0, place);
  const aheadPods = ahead.reduce((sum, { pods }) => sum + pods, 0);
  return {
    granted: false,
    because: `wave ${wave.number} of the recoveries with one cause restarts ${wave.pods} pods, and ${size} may begin at once (recovery.waves.pods); ${ahead.length} recoveries with ${aheadPods} pods come before this one`,
    // Not all at the same moment.
    lookAgainMs: wave.since + everyMs - now + Math.min(ahead.length * 10, everyMs / 2),
  };
}
