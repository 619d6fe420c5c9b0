import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ReserveRequest } from '../../contract/cluster.ts';
import { type ClusterState, firstState, permitRepair, reserve } from '../../workflows/cluster/state.ts';
import { type ClusterEvent, clusterTransitions } from '../../workflows/cluster/transitions.ts';
import { reserveLimit, stormRule } from '../support/builders.ts';
import { findViolation, type MachineProperty, type Played, withTransition } from '../support/machine-properties.ts';

const limit = reserveLimit(2);
const node = fc.constantFrom('a', 'b', 'c', 'd');
const mostRepairs = 2;
const by = { by: 'ada', reason: 'a test' };

/** Events that a caller or the driver may dispatch in the state, late answers included. */
const property = (
  answer: typeof reserve = reserve,
  permit: typeof permitRepair = permitRepair,
): MachineProperty<ClusterState, ClusterEvent> => ({
  first: () => firstState(0),
  events: fc.array(
    fc.oneof(
      fc.array(node, { minLength: 1, maxLength: 4 }).map((nodes) => (state: ClusterState, at: number): ClusterEvent => {
        const wanted: ReserveRequest['wanted'] = nodes.map((name) => ({
          node: name,
          nodeUid: name,
          incident: `node/${name}`,
        }));
        // The validator refuses requests before the count.
        return state.phase === 'counting'
          ? { kind: 'notifying' }
          : { kind: 'reserved', ...answer(state, { limit, storm: stormRule, wanted }, at) };
      }),
      node.map((name) => (state: ClusterState, at: number): ClusterEvent => ({
        kind: 'repairsPermitted',
        repairs: permit(state, { remedy: `remedy/${name}/x`, node: name, most: mostRepairs }, at).repairs,
      })),
      node.map((name) => (_state: ClusterState, at: number): ClusterEvent => ({
        kind: 'repairEnded',
        remedy: `remedy/${name}/x`,
        at,
      })),
      fc.array(node, { maxLength: 2 }).map((nodeUids) => (_state: ClusterState, at: number): ClusterEvent => ({
        kind: 'returned',
        nodeUids,
        at,
      })),
      fc.constant((_state: ClusterState, at: number): ClusterEvent => ({ kind: 'pauseRequested', request: by, at })),
      fc.constant((_state: ClusterState, at: number): ClusterEvent => ({ kind: 'resumeRequested', request: by, at })),
      fc
        .constantFrom('paused', 'open', undefined)
        .map((stored) => (_state: ClusterState, at: number): ClusterEvent => ({
          kind: 'counted',
          seen: {
            out: [{ node: 'z', nodeUid: 'z', incident: 'node/z', since: 0 }],
            ...(stored && { pause: { state: stored, by: 'bob', reason: 'stored', at: at - 1000 } }),
          },
        })),
      fc
        .constantFrom('job/a', 'job/b')
        .map((workflowId) => (): ClusterEvent => ({ kind: 'waitRequested', workflowId })),
      fc.constant((): ClusterEvent => ({ kind: 'notifying' })),
      fc.boolean().map((isLate) => (state: ClusterState): ClusterEvent => ({
        kind: 'pauseStored',
        pause: state.unstored && !isLate ? state.unstored.pause : { state: 'open', ...by, at: -1 },
      })),
    ),
    { maxLength: 40, size: 'max' },
  ),
  violations,
});

function violations(
  { before, event, after }: Played<ClusterState, ClusterEvent>,
  earlier: readonly Played<ClusterState, ClusterEvent>[],
): string[] {
  const [was, is] = [before, after].map(({ reservations }) => Object.keys(reservations));
  const granted = event.kind === 'reserved' ? (is ?? []).filter((uid) => !was?.includes(uid)) : [];
  const pausedBy = [...earlier.map((one) => one.event), event].findLast(
    ({ kind }) => kind === 'pauseRequested' || kind === 'resumeRequested',
  );
  const counted = earlier.some((one) => one.event.kind === 'counted') || event.kind === 'counted';
  const permitted = Object.keys(after.repairs).filter((id) => !(id in before.repairs));
  return [
    ...(permitted.length > 0 && before.paused ? ['a repair was permitted during a pause'] : []),
    ...(permitted.length > 0 && Object.keys(after.repairs).length > mostRepairs
      ? ['more nodes are under repair than may be']
      : []),
    ...(event.kind === 'repairEnded' && event.remedy in after.repairs ? ['a repair that has ended still counts'] : []),
    ...(event.kind === 'repairEnded' && event.remedy in before.repairs && !after.changed
      ? ['no workflow is notified of a repair that ended']
      : []),
    ...(granted.length > 0 && before.paused ? [`${granted.join()} was granted during a pause`] : []),
    ...(granted.length > 0 && (is ?? []).length > limit.nodes ? [`${is?.length} nodes are out`] : []),
    ...(pausedBy?.kind === 'pauseRequested' && !after.paused ? ['a pause is gone that no person ended'] : []),
    ...(counted && (after.phase === 'paused') !== (after.paused !== undefined)
      ? ['the phase does not show the pause']
      : []),
    ...(event.kind === 'pauseRequested' && after.unstored?.pause.at !== event.at
      ? ['the last pause is not to be stored']
      : []),
    ...(event.kind === 'pauseStored' && event.pause.at === -1 && before.unstored && !after.unstored
      ? ['a late answer hid a pause that is not stored']
      : []),
    ...(event.kind === 'returned' && was?.length !== is?.length && !after.changed
      ? ['no workflow is notified of a returned reservation']
      : []),
    ...(event.kind !== 'notifying' && before.changed && !after.changed
      ? ['a change was forgotten before any workflow was notified']
      : []),
    ...(event.kind !== 'notifying' && before.waiting.some((id) => !after.waiting.includes(id))
      ? ['a waiting workflow was forgotten']
      : []),
  ];
}

const table = clusterTransitions;
const replace = <Phase extends ClusterState['phase'], Kind extends ClusterEvent['kind']>(
  phase: Phase,
  kind: Kind,
  transition: NonNullable<(typeof table)[Phase][Kind]>,
) => withTransition(table, phase, kind, transition);

describe('the machine of a cluster', () => {
  it('keeps its invariants in any order of events', () => {
    expect(findViolation(table, property())).toBeUndefined();
  });

  it.each<[string, typeof table, RegExp]>([
    [
      'a count that hides the pause of this run',
      replace('counting', 'counted', {
        to: ['open'],
        next: (state) => ({ ...state, phase: 'open', paused: undefined }),
      }),
      /pause is gone/,
    ],
    [
      'a second count that ends a pause',
      replace('paused', 'counted', { to: ['open'], next: (state) => ({ ...state, phase: 'open', paused: undefined }) }),
      /pause is gone/,
    ],
    [
      'a phase that the table does not name',
      replace('open', 'pauseRequested', {
        to: [],
        next: (state, { at }) => ({ ...state, phase: 'paused', paused: { ...by, since: at } }),
      }),
      /which the table does not say/,
    ],
    [
      'a pause that is not stored',
      replace('open', 'pauseRequested', {
        to: ['paused'],
        next: (state, { at }) => ({ ...state, phase: 'paused', paused: { ...by, since: at } }),
      }),
      /not to be stored/,
    ],
    [
      'a late answer that counts',
      replace('paused', 'pauseStored', { to: [], next: (state) => ({ ...state, unstored: undefined }) }),
      /late answer/,
    ],
    [
      'a return that no workflow is notified of',
      replace('open', 'returned', { to: [], next: (state) => ({ ...state, reservations: {}, changed: false }) }),
      /no workflow is notified|forgotten before/,
    ],
    ['a repair that never ends', replace('open', 'repairEnded', { to: [], next: (state) => state }), /still counts/],
    [
      'the end of a repair that no workflow is notified of',
      replace('open', 'repairEnded', { to: [], next: (state) => ({ ...state, repairs: {}, changed: false }) }),
      /notified of a repair|forgotten before/,
    ],
    [
      'a registration that is dropped',
      replace('open', 'waitRequested', {
        to: [],
        next: (state, { workflowId }) => ({ ...state, waiting: [workflowId] }),
      }),
      /workflow was forgotten/,
    ],
  ])('is found to break them with %s', (_defect, mutant, message) => {
    expect(findViolation(mutant, property(), 1000, message)).toMatch(message);
  });

  it.each<[string, RegExp, typeof reserve]>([
    [
      'a limit that is not kept',
      /nodes are out/,
      (state, request, at) => reserve(state, { ...request, limit: reserveLimit(9) }, at),
    ],
    [
      'a grant during a pause',
      /granted during a pause/,
      (state, request, at) => reserve({ ...state, paused: undefined, phase: 'open' }, request, at),
    ],
  ])('is found to break them with %s', (_defect, message, answer) => {
    expect(findViolation(table, property(answer), 1000, message)).toMatch(message);
  });

  it.each<[string, RegExp, typeof permitRepair]>([
    [
      'a limit of repairs that is not kept',
      /more nodes/,
      (state, request, at) => permitRepair(state, { ...request, most: 9 }, at),
    ],
    [
      'a repair during a pause',
      /during a pause/,
      (state, request, at) => permitRepair({ ...state, paused: undefined }, request, at),
    ],
  ])('is found to break them with %s', (_defect, message, permit) => {
    expect(findViolation(table, property(reserve, permit), 1000, message)).toMatch(message);
  });
});
