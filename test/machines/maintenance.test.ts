import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { MaintenanceView } from '../../contract/node/maintenance.ts';
import { nextState } from '../../workflows/state-machine.ts';
import { firstState, type MaintenanceState } from '../../workflows/maintenance/state.ts';
import { type MaintenanceEvent, maintenanceTransitions } from '../../workflows/maintenance/transitions.ts';
import {
  findDefect,
  findViolation,
  type MachineProperty,
  type Played,
  withTransition,
} from '../support/machine-properties.ts';

const by = { by: 'ada', reason: 'driver 580' };
const plan = { ...by, from: 20, until: 30 };
const leadMs = 10;
const view = { uid: 'uid-1', leadMs, lookAgainMs: 1, askAgainMs: 2, jobs: ['pytorchjob/llm in train'] };
const views: (MaintenanceView | null)[] = [view, { ...view, jobs: [] }, { ...view, hold: 'mode is observe' }, null];
const quarantine = { incident: 'node/gpu-3/x', because: 'ada asked: driver 580' };

/** Events that the driver may dispatch in the state, late answers included. */
const property: MachineProperty<MaintenanceState, MaintenanceEvent> = {
  first: () => firstState({ node: 'gpu-3', plan }, 0),
  events: fc.array(
    fc.oneof(
      fc.tuple(fc.constantFrom(...views), fc.nat(35)).map(([seen, at]) => (): MaintenanceEvent => ({
        kind: 'looked',
        view: seen,
        at,
      })),
      fc.tuple(fc.boolean(), fc.nat(35)).map(([ours, at]) => (): MaintenanceEvent => ({
        kind: 'quarantined',
        quarantine: { ...quarantine, ours },
        at,
      })),
      fc.constant((): MaintenanceEvent => ({ kind: 'jobsNotified' })),
      fc.constant((): MaintenanceEvent => ({ kind: 'windowEnded' })),
      fc.constant((): MaintenanceEvent => ({ kind: 'sent' })),
      fc.constant((): MaintenanceEvent => ({ kind: 'cancelRequested', request: { by: 'bob', reason: 'not today' } })),
      fc
        .nat(35)
        .map((at) => (): MaintenanceEvent => ({ kind: 'replanned', plan: { ...by, from: at + 5, until: at + 9 }, at })),
      fc.nat(35).map((at) => (): MaintenanceEvent => ({ kind: 'stepFailed', because: 'no answer', at })),
      fc.constantFrom('released' as const, 'kept' as const).map((kind) => (): MaintenanceEvent => ({
        kind: 'returned',
        result: { kind, because: `it is ${kind}` },
      })),
    ),
    { maxLength: 30, size: 'max' },
  ),
  violations,
};

const ends = (state: MaintenanceState) => state.outbox.filter(({ reason }) => reason === 'NodeMaintenanceEnded');

function violations(
  { before, event, after }: Played<MaintenanceState, MaintenanceEvent>,
  earlier: readonly Played<MaintenanceState, MaintenanceEvent>[],
): string[] {
  const begins = after.phase === 'quarantining' && before.phase !== 'quarantining';
  const seen = event.kind === 'looked' ? event : undefined;
  const isOut = earlier.some((one) => one.event.kind === 'quarantined' && one.before.phase === 'quarantining');
  const hasEnded = after.phase === 'ended' && before.phase !== 'ended';
  return [
    ...(begins && seen?.view?.hold !== undefined ? ['a node was quarantined although that was held'] : []),
    ...(begins && (seen?.at ?? 0) < before.plan.from - leadMs ? ['a node was quarantined before its lead'] : []),
    ...(begins && (seen?.at ?? Infinity) >= before.plan.until ? ['a node was quarantined after its window'] : []),
    ...(after.phase === 'returning' && after.quarantine === undefined ? ['a node that is not out is released'] : []),
    ...(before.cancelled !== undefined && !after.cancelled ? ['a cancellation was forgotten'] : []),
    ...(after.cancelled && (after.phase === 'moving' || after.phase === 'in-maintenance')
      ? ['a cancelled maintenance goes on']
      : []),
    ...(before.phase === 'moving' && after.phase === 'moving' && before.notified && !after.notified
      ? ['the jobs are notified twice']
      : []),
    ...(hasEnded && isOut && seen?.view !== null && before.phase !== 'returning'
      ? ['it ended and left its quarantine']
      : []),
    ...(hasEnded && event.kind === 'returned' && event.result.kind === 'kept' && after.outcome.outcome !== 'kept'
      ? ['a node that is still out counts as returned']
      : []),
    ...(hasEnded && after.ordered && !after.quarantine && !after.because.includes('kcover node list')
      ? ['an order that is not confirmed is kept from people']
      : []),
    ...(hasEnded && ends(after).length !== ends(before).length + 1 ? ['its end is not reported once'] : []),
    ...(before.phase === 'ended' && (after.phase !== 'ended' || ends(after).length > ends(before).length)
      ? ['it went on after its end']
      : []),
    ...(event.kind !== 'sent' && after.outbox.length < before.outbox.length ? ['an Event was lost'] : []),
    ...(after.phase === 'planned' && after.lookAt === before.plan.from - leadMs && after.lookAt <= (seen?.at ?? -1)
      ? ['it looks again without end']
      : []),
  ];
}

const table = maintenanceTransitions;
const looked = table.planned.looked?.next;
const taken = table.quarantining.quarantined?.next;
const given = table.returning.returned?.next;
if (!looked || !taken || !given) throw new Error('the table lacks what the test changes');

const defects: readonly [string, RegExp, typeof table][] = [
  [
    'ignores a hold',
    /although that was held/,
    withTransition(table, 'planned', 'looked', {
      to: ['quarantining', 'ended'],
      next: (state, event) => {
        const { uid, leadMs: lead, lookAgainMs, askAgainMs, jobs } = event.view ?? view;
        return looked(state, { ...event, view: event.view && { uid, leadMs: lead, lookAgainMs, askAgainMs, jobs } });
      },
    }),
  ],
  [
    'forgets a cancellation',
    /a cancel(lation|led)/,
    withTransition(table, 'quarantining', 'quarantined', {
      to: ['moving', 'returning'],
      next: (state, event) => taken({ ...state, cancelled: undefined }, event),
    }),
  ],
  [
    'reports a node as returned that is still out',
    /still out counts as returned/,
    withTransition(table, 'returning', 'returned', {
      to: ['ended'],
      next: (state, event) => given(state, { ...event, result: { ...event.result, kind: 'released' } }),
    }),
  ],
];

describe('the machine of a planned maintenance', () => {
  it('keeps its invariants, whatever comes in whatever order', () => {
    expect(findViolation(table, property)).toBeUndefined();
  });

  it.each(defects)('is found out where it %s', (_what, found, broken) => {
    expect(findDefect(broken, property, found)).toMatch(found);
  });

  it('is quarantined at its lead, left to people when its jobs have left, and returned at its end', () => {
    const begin = firstState({ node: 'gpu-3', plan }, 0);
    const events: MaintenanceEvent[] = [
      { kind: 'looked', view, at: 0 },
      { kind: 'looked', view, at: 10 },
      { kind: 'quarantined', quarantine: { ...quarantine, ours: true }, at: 11 },
      { kind: 'jobsNotified' },
      { kind: 'looked', view, at: 12 },
      { kind: 'looked', view: { ...view, jobs: [] }, at: 13 },
      { kind: 'windowEnded' },
      { kind: 'returned', result: { kind: 'released', because: 'its quarantine is over' } },
    ];
    const states: MaintenanceState[] = [begin];
    for (const event of events) states.push(nextState(table, states.at(-1) ?? begin, event));
    expect(states.map(({ phase }) => phase)).toEqual([
      'planned',
      'planned',
      'quarantining',
      'moving',
      'moving',
      'moving',
      'in-maintenance',
      'returning',
      'ended',
    ]);
    expect(states.at(-1)).toMatchObject({
      outcome: { outcome: 'returned', because: 'its time is over; its quarantine is over' },
      outbox: [
        { reason: 'NodeMaintenancePlanned' },
        { reason: 'NodeReadyForMaintenance', type: 'Normal' },
        { reason: 'NodeMaintenanceEnded', type: 'Normal' },
      ],
    });
  });

  it('is left to people at its time with the names of the jobs that are still there', () => {
    const moving: MaintenanceState = {
      ...firstState({ node: 'gpu-3', plan }, 0),
      phase: 'moving',
      notified: true,
      lookAt: 20,
      quarantine: { ...quarantine, ours: true },
    };
    expect(nextState(table, moving, { kind: 'looked', view, at: 20 })).toMatchObject({
      phase: 'in-maintenance',
      because: 'its time has come, and these opted-in jobs still have pods on gpu-3: pytorchjob/llm in train',
      outbox: [{ type: 'Warning' }],
    });
  });
});
