/** What the state of a remedy looks like from outside: answer of the query, progress for its node, current details, search attributes. Pure. */

import type { RemedyProgress, RemedyStatus } from '../../contract/remedy/remedy.ts';
import type { Attributes, Details } from '../attributes.ts';
import { isoTime, isProven, type RemedyState, rungOf } from './state.ts';

/** What a remedy is started with. */
export const firstAttributes = { KcoverPhase: 'remembering' } as const satisfies Attributes;

/** When the phase ends at the latest, ms. */
function deadlineOf(state: RemedyState): number | undefined {
  switch (state.phase) {
    case 'waiting':
      return state.askAt;
    case 'draining':
    case 'probation':
      return state.until;
    case 'remediating':
      return state.attempt.until;
    default:
      return undefined;
  }
}

export function progressOf(state: RemedyState, at: number): RemedyProgress {
  const { phase, because, input, remediations } = state;
  const until = deadlineOf(state);
  return {
    incident: input.incident,
    phase,
    because,
    at: isoTime(at),
    ...(until !== undefined && { until: isoTime(until) }),
    remediations,
    ...(phase === 'ended' && {
      outcome: state.outcome.outcome,
      ...(state.outcome.outcome === 'cured' && { release: input.ladder.release }),
    }),
  };
}

/** The node is notified when this changes. `asking` is short, and comes before and after every other phase. */
export const progressKey = ({ phase, because, remediations }: RemedyState): string | undefined =>
  phase === 'asking' ? undefined : [phase, because, remediations.length].join();

function waitingFor(state: RemedyState): string {
  switch (state.phase) {
    case 'remembering':
      return 'earlier incidents of the machine';
    case 'asking':
      return `permission to ${isProven(state) ? 'test' : 'repair'} the node`;
    case 'waiting':
      return 'another answer; it asks again by itself';
    case 'draining':
      return 'other workloads to leave';
    case 'remediating':
      return state.step === 'proving'
        ? `proof: ${rungOf(state)?.proof.join(', ') ?? ''}`
        : `hook ${rungOf(state)?.hook ?? ''}`;
    case 'verifying':
      return `hook ${rungOf(state)?.verify ?? ''}`;
    case 'probation':
      return 'the end of its probation';
    case 'ended':
      return 'nothing';
  }
}

function shownRung({ input: { ladder }, rung }: RemedyState): string {
  const shown = Math.min(rung, ladder.rungs.length - 1);
  return `${shown + 1} of ${ladder.rungs.length}: ${ladder.rungs[shown]?.hook ?? ''}`;
}

export const statusOf = (state: RemedyState, now: number): RemedyStatus => ({
  ...progressOf(state, now),
  node: state.input.node,
  ladder: state.input.ladder.name,
  rung: shownRung(state),
  waitingFor: waitingFor(state),
});

/** Undefined while it asks: every upsert is an event. */
export function attributesOf(state: RemedyState): Attributes | undefined {
  if (state.phase === 'asking') return undefined;
  return { KcoverPhase: state.phase, ...(state.phase === 'ended' && { KcoverOutcome: state.outcome.outcome }) };
}

export function detailsOf(state: RemedyState): Details {
  const { input, because, faults, remediations } = state;
  const until = deadlineOf(state);
  return {
    title: `${input.node}: ${state.phase === 'ended' ? state.outcome.outcome : state.phase}`,
    rows: [
      ['because', because],
      ['waiting for', waitingFor(state)],
      ['until', until === undefined ? undefined : isoTime(until)],
      ['ladder', input.ladder.name],
      ['rung', shownRung(state)],
      ['incident', input.incident],
      [
        'faults',
        faults
          .slice(-10)
          .map(({ code, seenAt, message }) => `${code} at ${seenAt}: ${message}`)
          .join('; '),
      ],
      ...remediations.map(
        (one) => [one.endedAt, `${one.rung}, attempt ${one.attempt}: ${one.outcome}: ${one.because}`] as const,
      ),
    ],
  };
}
