/** What the lines of one container have said so far. Pure. */

import { type LoggedWatchdog, logLimits, type LogReport } from '../../contract/progress/logs.ts';
import type { ProgressPhase } from '../../contract/progress/progress.ts';
import { oneLine } from '../../contract/text.ts';
import type { LogEvent, LogPhase, WatchdogEvent } from '../../faults/logs/log-event.ts';

export type FoldedLog = Omit<LogReport, 'pod'>;

const phases = {
  training: 'training',
  saving: 'checkpointing',
  evaluating: 'evaluating',
  compiling: 'compiling',
} as const satisfies Record<LogPhase, ProgressPhase>;

/** `at`: time of the line, RFC 3339. Undefined while nothing was said that a report has. */
export function foldEvent(seen: FoldedLog | undefined, event: LogEvent, at: string): FoldedLog | undefined {
  switch (event.kind) {
    case 'step': {
      const { phase: _phase, phaseAt: _phaseAt, ...rest } = seen ?? {};
      // A progress bar repeats a step that was done before.
      const stepAt = seen?.step === event.step ? (seen.stepAt ?? at) : at;
      return { ...rest, at, step: event.step, stepAt };
    }
    case 'checkpoint': {
      const checkpointStep = event.step ?? seen?.step;
      if (checkpointStep === undefined) return seen;
      const saved = { ...seen, at, checkpointStep, checkpointAt: at };
      return saved.phase === 'checkpointing' ? { ...saved, phase: 'training', phaseAt: at } : saved;
    }
    case 'phase':
      return { ...seen, at, phase: phases[event.phase], phaseAt: at };
    case 'watchdog':
      return { ...seen, at, watchdogs: [...(seen?.watchdogs ?? []), logged(event, at)].slice(-logLimits.watchdogs) };
    case 'straggler': {
      const { rank } = event;
      const before = seen?.straggler?.rank === rank ? seen.straggler.reports : 0;
      return { ...seen, at, straggler: { at, rank, reports: before + 1 } };
    }
    case 'torchrun':
      return seen;
  }
}

const logged = (event: WatchdogEvent, at: string): LoggedWatchdog => {
  const { kind: _kind, group, operation, ...rest } = event;
  return {
    ...rest,
    at,
    ...(group !== undefined && { group: oneLine(group, 80) }),
    ...(operation !== undefined && { operation: oneLine(operation, 40) }),
  };
};
