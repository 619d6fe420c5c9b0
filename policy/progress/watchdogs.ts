/** What lines of watchdogs say about training that makes no step. Pure. */

import type { LoggedWatchdog } from '../../contract/progress/logs.ts';
import type { Suspect } from '../../contract/recovery/evidence.ts';
import { type RankLog, suspectsOf } from '../../faults/logs/suspects.ts';

/** The log of one pod, which is read now, and the lines of watchdogs in it. */
export interface WatchedLog {
  readonly pod: { readonly name: string; readonly node: string };
  readonly watchdogs: readonly LoggedWatchdog[];
}

export interface WatchdogFindings {
  /** A sentence for each pod whose watchdogs say something. */
  readonly witnesses: readonly string[];
  readonly suspects: readonly Suspect[];
}

/** `logs`: of all pods of the job that are read; nothing is known of the others. */
export const judgeWatchdogs = (logs: readonly WatchedLog[]): WatchdogFindings => ({
  witnesses: logs.flatMap(({ pod, watchdogs }) => {
    const [first] = watchdogs;
    return first ? [`watchdog of ${pod.name} on ${pod.node}: ${sentenceOf(first)}`] : [];
  }),
  suspects: suspectsOf(logs.map(rankLogOf)),
});

const says = {
  timeout: 'a collective timed out',
  position: 'a collective failed',
  dump: 'a rank reports that a collective timed out',
  stuck: 'it does not respond itself',
  heartbeat: 'a process sends no heartbeat',
  section: 'a section takes too long',
} as const satisfies Record<LoggedWatchdog['what'], string>;

function sentenceOf({ what, rank, operation, sequence }: LoggedWatchdog): string {
  const facts = [
    ...(rank === undefined ? [] : [`rank ${rank}`]),
    ...(operation === undefined ? [] : [operation]),
    ...(sequence === undefined ? [] : [`${sequence}`]),
  ];
  return `${says[what]}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`;
}

const rankLogOf = ({ pod, watchdogs }: WatchedLog): RankLog => ({
  pod: pod.name,
  node: pod.node,
  events: watchdogs.map((event) => ({ kind: 'watchdog', ...event })),
});
