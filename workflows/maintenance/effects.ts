/** What a planned maintenance does in each phase. Each effect answers with one event; undefined when something that arrived has changed the state. */

import { condition } from '@temporalio/workflow';
import type { Activities } from '../../contract/wire/activities.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attempt, perform, tolerate } from '../proxies.ts';
import type { InPhase, Machine } from '../state-machine.ts';
import { faultOf, type MaintenanceState, orderOf } from './state.ts';
import type { MaintenanceEvent } from './transitions.ts';

export type MaintenanceMachine = Machine<MaintenanceState, MaintenanceEvent>;

/** What the effect of a phase does next. */
export async function runEffect(
  state: Exclude<MaintenanceState, { phase: 'ended' }>,
  machine: MaintenanceMachine,
): Promise<MaintenanceEvent | undefined> {
  const { node, plan } = state;
  switch (state.phase) {
    case 'planned':
      return (await isDue(state.lookAt, machine, 'look at the node')) ? look(node) : undefined;
    case 'quarantining':
      return order(state);
    case 'moving':
      if (!state.notified) return notify(state);
      return (await isDue(state.lookAt, machine, 'have the jobs left?')) ? look(node) : undefined;
    case 'in-maintenance':
      return (await isDue(plan.until, machine, 'the maintenance is over')) ? { kind: 'windowEnded' } : undefined;
    case 'returning':
      return giveBack(state);
  }
}

/** Whether the time has come; false when something arrived before. */
async function isDue(at: number, machine: MaintenanceMachine, summary: string): Promise<boolean> {
  const { revision } = machine;
  if (at <= now()) return true;
  return !(await condition(() => machine.revision !== revision || isHistoryLong(), at - now(), { summary }));
}

async function look(node: string): Promise<MaintenanceEvent> {
  const seen = await attempt(perform('observeMaintenance', `which opted-in jobs are on ${node}?`, { node }));
  return 'done' in seen ? { kind: 'looked', view: seen.done, at: now() } : failed(seen.failed);
}

async function order(state: InPhase<MaintenanceState, 'quarantining'>): Promise<MaintenanceEvent> {
  const { node } = state;
  const ordered = await attempt(
    perform('orderQuarantine', `quarantine ${node} for maintenance`, { node, ...orderOf(state) }),
  );
  return 'done' in ordered ? { kind: 'quarantined', quarantine: ordered.done, at: now() } : failed(ordered.failed);
}

async function notify(state: InPhase<MaintenanceState, 'moving'>): Promise<MaintenanceEvent> {
  const { node } = state;
  const notified = await attempt(
    perform('notifyJobs', `jobs on ${node} must move`, { node, faults: [faultOf(state, 'quarantined')] }),
  );
  return 'done' in notified ? { kind: 'jobsNotified' } : failed(notified.failed);
}

/** Jobs that have not moved yet learn that they need not any more. */
async function giveBack(state: InPhase<MaintenanceState, 'returning'>): Promise<MaintenanceEvent> {
  const { node, quarantine, because } = state;
  if (!quarantine?.ours) {
    const why = `${because}; it was quarantined before the maintenance: ${quarantine?.because ?? 'unknown'}`;
    return { kind: 'returned', result: { kind: 'kept', because: why } };
  }
  const { by } = state.cancelled ?? state.plan;
  const request: Parameters<Activities['returnNode']>[0] = {
    node,
    incident: quarantine.incident,
    by,
    reason: `maintenance: ${because}`,
  };
  const released = await attempt(perform('returnNode', `release ${node}: ${because}`, request));
  if ('failed' in released) return failed(released.failed);
  if (released.done.kind === 'released' && state.jobs.length > 0)
    await tolerate(perform('notifyJobs', `jobs on ${node} may stay`, { node, faults: [faultOf(state, 'released')] }));
  return { kind: 'returned', result: released.done };
}

const failed = (because: string): MaintenanceEvent => ({ kind: 'stepFailed', because, at: now() });
