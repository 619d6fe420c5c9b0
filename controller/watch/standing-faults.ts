/** Sends faults that objects show once they have stood long enough, each once. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import { foldStanding, type ShownFault, type StandingFaults, takeDue } from '../../policy/node/standing.ts';
import { logDefects } from '../log-defects.ts';

export interface StandingOptions {
  /** `subject`: as it was given to `see`. */
  readonly notify: (subject: string, fault: Fault) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface StandingWatch {
  /** What a subject shows now; a fault that it showed before and no longer shows is over. */
  see(subject: string, shown: readonly ShownFault[]): void;
  forget(subject: string): void;
  /** The fault was not sent: if its subject still shows it when it is seen next, it counts anew. */
  forgetFault(subject: string, id: string): void;
  /** Whether what was seen is up to date: nothing is sent otherwise. */
  setReachable(isReachable: boolean): void;
}

const longestTimerMs = 2 ** 31 - 1;

export function watchStanding({ notify, log, signal }: StandingOptions): StandingWatch {
  const bySubject = new Map<string, StandingFaults>();
  const now = () => performance.now();
  let isUpToDate = false;
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });

  function judge(): void {
    clearTimeout(timer);
    if (signal.aborted || !isUpToDate) return;
    let lookAt = Infinity;
    for (const [subject, standing] of bySubject) {
      const { due, after, lookAt: next = Infinity } = takeDue(standing, now());
      bySubject.set(subject, after);
      lookAt = Math.min(lookAt, next);
      for (const fault of due) notify(subject, fault);
    }
    if (lookAt < Infinity) {
      const act = () => logDefects(log, 'standing faults could not be judged', {}, judge);
      timer = setTimeout(act, Math.min(longestTimerMs, Math.max(1, lookAt - now())));
    }
  }

  return {
    see(subject, shown) {
      const before = bySubject.get(subject);
      if (shown.length === 0) bySubject.delete(subject);
      else bySubject.set(subject, foldStanding(before ?? new Map(), shown, now()));
      if (shown.some(({ fault }) => before?.has(fault.id) !== true)) judge();
    },
    forget: (subject) => void bySubject.delete(subject),
    forgetFault(subject, id) {
      const before = bySubject.get(subject);
      if (before) bySubject.set(subject, new Map([...before].filter(([known]) => known !== id)));
    },
    setReachable(isReachable) {
      isUpToDate = isReachable;
      if (isReachable) judge();
      else clearTimeout(timer);
    },
  };
}
