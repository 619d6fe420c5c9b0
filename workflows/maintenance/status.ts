/** What a planned maintenance looks like from outside: answer of the query, current details, search attributes. Pure. */

import type { MaintenanceStatus } from '../../contract/node/maintenance.ts';
import { type Attributes, type Details, iso } from '../attributes.ts';
import type { MaintenanceState } from './state.ts';

/** What it is started with. */
export const firstAttributes = { KcoverPhase: 'planned' } as const satisfies Attributes;

function waitingFor(state: MaintenanceState): string {
  switch (state.phase) {
    case 'planned':
      return `${state.held === undefined ? 'its time' : 'what holds it'}, until ${iso(state.lookAt)}`;
    case 'quarantining':
      return 'the quarantine of the node';
    case 'moving':
      return `opted-in jobs to leave, until ${iso(state.plan.from)}`;
    case 'in-maintenance':
      return `the end of the work, at ${iso(state.plan.until)}, or kcover node maintain ${state.node} --cancel`;
    case 'returning':
      return 'the release of the node';
    case 'ended':
      return 'nothing';
  }
}

export function statusOf(state: MaintenanceState): MaintenanceStatus {
  const { node, phase, because, plan, quarantine, jobs } = state;
  return {
    node,
    phase,
    because,
    from: iso(plan.from),
    until: iso(plan.until),
    by: plan.by,
    reason: plan.reason,
    waitingFor: waitingFor(state),
    ...(quarantine?.ours && { incident: quarantine.incident }),
    jobs,
    ...(state.phase === 'ended' && { outcome: state.outcome.outcome }),
  };
}

export const attributesOf = (state: MaintenanceState): Attributes => ({
  KcoverPhase: state.phase,
  ...(state.phase === 'ended' && { KcoverOutcome: state.outcome.outcome }),
});

export function detailsOf(state: MaintenanceState): Details {
  const { node, because, from, until, by, reason, incident, jobs, outcome, phase } = statusOf(state);
  return {
    title: `maintenance of ${node}: ${outcome ?? phase}`,
    rows: [
      ['because', because],
      ['waiting for', waitingFor(state)],
      ['from', from],
      ['until', until],
      ['planned by', `${by}: ${reason}`],
      ['incident', incident],
      ['opted-in jobs on the node', jobs.slice(0, 20).join(', ')],
    ],
  };
}
