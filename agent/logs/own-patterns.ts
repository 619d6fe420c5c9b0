import type { LogPatterns } from '../../contract/progress/logs.ts';
import type { OwnPatterns } from '../../faults/logs/log-event.ts';
import { readOwnPattern } from '../../faults/logs/own/own-pattern.ts';

/** The patterns of a job's owner. The controller has checked them: one that cannot be used here is left out. */
export function ownPatternsOf(patterns: LogPatterns): OwnPatterns {
  const [step, checkpoint] = [patternOf(patterns, 'step'), patternOf(patterns, 'checkpoint')];
  return { ...(step && { step }), ...(checkpoint && { checkpoint }) };
}

function patternOf(patterns: LogPatterns, group: 'step' | 'checkpoint'): OwnPatterns[typeof group] {
  const text = patterns[group];
  const read = text === undefined ? undefined : readOwnPattern(text, group);
  return read?.kind === 'pattern' ? read.pattern : undefined;
}
