/** What the state of a recovery looks like from outside: answer of the query, current details, search attributes. Pure. */

import { jobTitle } from '../../contract/job/jobs.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import type { Attributes, Details } from '../attributes.ts';
import { attemptOf, nodesIn } from './incident.ts';
import { openQuestion } from './questions.ts';
import type { RecoveryState } from './state.ts';

/** What a recovery is started with. */
export const firstAttributes = { KcoverPhase: 'deciding' } as const satisfies Attributes;

export const statusOf = (state: RecoveryState): RecoveryStatus => ({
  incident: state.input.incident,
  attempt: attemptOf(state),
  faults: state.faults.slice(0, 20).map(({ id, code, message, node, quarantine }) => ({
    id,
    code,
    message,
    ...(node ? { node } : {}),
    ...(quarantine ? { quarantine } : {}),
  })),
  ...state.shown,
  timeline: state.timeline,
  ...openQuestion(state.questions),
});

/** The last ones are written with the outcome: what follows is the record, which the current details show. */
export const attributesOf = (state: RecoveryState): Attributes =>
  state.phase === 'recording' || state.phase === 'ended'
    ? { KcoverPhase: 'ended', KcoverOutcome: state.end.outcome, KcoverNode: nodesIn(state).slice(0, 20) }
    : { KcoverPhase: state.shown.phase };

export function detailsOf({ input, shown, timeline }: RecoveryState): Details {
  return {
    title: `${jobTitle(input.job)}: ${shown.phase}`,
    rows: [
      ['because', shown.because],
      ['waiting for', shown.waitingFor],
      ['until', shown.until],
      ['incident', input.incident],
      ...timeline.map(({ at, what, because }) => [at, because ? `${what}: ${because}` : what] as const),
    ],
  };
}
