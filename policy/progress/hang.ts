/** Whether training hangs although all pods run. Pure; all times are milliseconds of one clock, the controller's own. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { type Fault, faultLimits, noStepInLog, trainingHangs } from '../../contract/faults/faults.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { Suspect } from '../../contract/recovery/evidence.ts';
import type { JobProgress, Pace } from '../../contract/progress/progress.ts';
import { isResting } from './pace.ts';

export interface HangSettings {
  /** Multiple of the median step. */
  readonly times: number;
  readonly leastMs: number;
  /** How many witnesses must agree where the steps were read in a log. */
  readonly witnesses: number;
}

/** What was observed of a job that has reported a step in this attempt. */
export interface Standstill {
  readonly progress: JobProgress;
  /** When its last new step arrived. A new leader takes the first report of every job for a new step, so time before its term does not count. */
  readonly movedAt: number;
  /** When it last reported a change between training and another phase, since then. */
  readonly turnedAt?: number;
  /** When a missing step was last excused: not all of its pods ran, or its agent was silent. */
  readonly excusedAt?: number;
  /** Its steps were read in a log: a trainer that stops printing is no trainer that hangs. */
  readonly fromLog?: true;
  /** When the first watchdog agreed that it stands still. */
  readonly witnessedAt?: number;
}

/** `suspected`: no step for long, but too few witnesses. */
export interface HangDecision {
  readonly kind: 'hangs' | 'suspected' | 'waits';
  readonly because: string;
  /** Half of the time has passed: further witnesses are asked for. */
  readonly isLate: boolean;
}

/**
 * The watchdogs of other ranks get this long after the first, ms, to say what they know: all of them began to wait at nearly the same time, and only
 * the logs of most ranks tell which one did not join. Agents report every 10 s by default.
 */
const othersReportMs = 15_000;

/** Limit for another phase than training, and for steps of unknown duration, as a multiple of the least time. */
const longest = 10;

/**
 * Hangs after so many times the median step without a step, and never before the least time. A trainer that checkpoints, evaluates or compiles
 * is excused for ten times the least time; the time limit starts again after that. `witnesses`: what else says that it stands still, a sentence each.
 */
export function judgeHang(
  seen: Standstill,
  settings: HangSettings,
  now: number,
  witnesses: readonly string[] = [],
): HangDecision {
  const { progress, movedAt, turnedAt = movedAt, excusedAt = movedAt, witnessedAt = -Infinity } = seen;
  const { times, leastMs } = settings;
  const { step, phase, pace } = progress;
  const limit = pace ? Math.max(times * pace.msPerStep, leastMs) : longest * leastMs;
  const from = Math.max(movedAt, excusedAt);
  const excuse = from + longest * leastMs;
  const limitAt = isResting(phase)
    ? Math.max(excuse, from + limit)
    : Math.max(from, Math.min(turnedAt, excuse)) + limit;
  const until = Math.max(limitAt, witnessedAt + othersReportMs);
  const needed = seen.fromLog ? settings.witnesses : 1;
  const doing = isResting(phase) ? `; it says that it is ${phase}` : '';
  return {
    kind: now < until ? 'waits' : witnesses.length + 1 < needed ? 'suspected' : 'hangs',
    because: `no step for ${formatDuration(now - movedAt)} after step ${step}${known(pace)}${doing}`,
    isLate: now - from > (limitAt - from) / 2,
  };
}

const known = (pace: Pace | undefined): string =>
  pace ? `; half of its steps take no more than ${formatDuration(pace.msPerStep)}` : '';

/** What is known of a hang when it is reported. `seenAt`: RFC 3339. */
export interface HangReport {
  readonly pod: string;
  readonly progress: JobProgress;
  readonly seenAt: string;
  /** Everything that says that it stands still, a sentence each. */
  readonly witnesses: readonly string[];
  readonly suspects: readonly Suspect[];
}

/** The same fault for one hang on every leader: its id is made of pod, step, and the time of the step. */
export function hangFault({ uid }: JobRef, report: HangReport): Fault {
  const witnesses = report.witnesses.map((each) => each.slice(0, faultLimits.witness)).slice(0, faultLimits.witnesses);
  const suspects = report.suspects.slice(0, faultLimits.suspects);
  const named = [...new Set(suspects.map(({ pod, node }) => `${pod}${node === undefined ? '' : ` on ${node}`}`))];
  return {
    ...jobFault(uid, 'hang', report),
    code: trainingHangs,
    message: [...inBrief(witnesses), ...(named.length > 0 ? [`suspected: ${named.join(', ')}`] : [])].join('; '),
    witnesses,
    ...(suspects.length > 0 && { suspects }),
  };
}

/** The first two; the others say much the same. */
const inBrief = ([first = '', second, ...others]: readonly string[]): readonly string[] => [
  first,
  ...(second === undefined ? [] : [others.length > 0 ? `${second} (and ${others.length} more)` : second]),
];

/** The same for a job of which only the log says that it makes no step. */
export const noStepFault = ({ uid }: JobRef, report: HangReport): Fault => ({
  ...jobFault(uid, 'no-step', report),
  code: noStepInLog,
  message: `${report.witnesses.join('; ')}; only its log says so, which may have ended`,
});

const jobFault = (uid: string, kind: string, { pod, progress: { step, at }, seenAt }: HangReport) =>
  ({ id: `${kind}/${uid}/${pod}/${step}/${at}`, source: 'progress', seenAt, job: uid }) as const;
