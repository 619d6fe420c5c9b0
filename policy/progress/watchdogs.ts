/** What lines of watchdogs say about training that makes no step. Pure. */

import type { Suspect } from '../../contract/faults/faults.ts';
import type { LoggedWatchdog } from '../../contract/progress/logs.ts';

/** A line, and the pod that wrote it. */
export interface WatchdogLine extends LoggedWatchdog {
  readonly pod: { readonly name: string; readonly node: string };
}

const says = {
  timeout: 'a collective timed out',
  position: 'a collective failed',
  dump: 'a rank reports that a collective timed out',
  stuck: 'the watchdog itself does not respond',
  heartbeat: 'a process sends no heartbeat',
  section: 'a section takes too long',
} as const satisfies Record<LoggedWatchdog['what'], string>;

export function watchdogSentence({ what, rank, operation, sequence, pod }: WatchdogLine): string {
  const which = [...(operation === undefined ? [] : [operation]), ...(sequence === undefined ? [] : [`${sequence}`])];
  const where = rank === undefined ? '' : `rank ${rank}, `;
  return `watchdog of ${where}${pod.name} on ${pod.node}: ${says[what]}${which.length > 0 ? ` (${which.join(' ')})` : ''}`;
}

/** Those behind the others; see `suspectsOf` of the readers. */
export function suspectsOf(_lines: readonly WatchdogLine[]): readonly Suspect[] {
  return [];
}
