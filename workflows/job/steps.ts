/** Which effect the state asks for next. Pure. */

import { toForward } from './inbox.ts';
import type { JobState } from './state.ts';

export type Step = 'begin' | 'start' | 'read' | 'report-pause' | 'refuse-label' | 'decide' | 'forward' | 'wait';

/** What was decided is carried out first; the job is read before anything else is decided about it. */
export function nextStep(state: JobState): Step {
  if (state.phase === 'starting') return 'begin';
  if (state.phase === 'opening') return 'start';
  if (state.mustRead || (state.over && state.readRevision !== state.revision)) return 'read';
  if (state.pauseChanges.length > 0) return 'report-pause';
  if (state.labelLeft) return 'refuse-label';
  if (state.phase === 'deciding') return 'decide';
  return (state.phase === 'recovering' || state.phase === 'stuck') && toForward(state).length > 0 ? 'forward' : 'wait';
}
