import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ReserveRequest } from '../../contract/cluster.ts';
import {
  noStorms,
  type Storms,
  whyStorm,
  withRepairEnded,
  withReturned,
  withQuarantines,
} from '../../workflows/cluster/storms.ts';
import { stormRule } from '../support/builders.ts';

const minute = 60_000;
const start = Date.parse('2026-11-21T07:00:00.000Z');
type Wanted = ReserveRequest['wanted'][number];
const wanted = (node: string, at: number, more: Partial<Wanted> = {}): Wanted => ({
  node,
  nodeUid: node,
  incident: `node/${node}/${new Date(at).toISOString()}`,
  cause: 'xid-79',
  domains: ['rack=r7'],
  ...more,
});
const after = (all: readonly Wanted[], now = start, from: Storms = noStorms): Storms =>
  withQuarantines(from, all, stormRule, now);
const three = ['a', 'b', 'c'].map((node) => wanted(node, start));
const repair = (node: string) => ({ remedy: `remedy/${node}`, node, since: start });

describe('nodes with one cause', () => {
  it('are one incident from the third node of a domain on', () => {
    expect(after(three.slice(0, 2)).open).toEqual([]);
    expect(after(three).open).toEqual([
      {
        id: 'storm/xid-79/rack=r7/2026-11-21T07:00:00.000Z',
        cause: 'xid-79',
        place: 'rack=r7',
        since: start,
        nodes: ['a', 'b', 'c'],
        quietMs: 10 * minute,
        until: start + 10 * minute,
        helped: 0,
      },
    ]);
  });

  it.each<[string, readonly Wanted[]]>([
    ['another cause', [...three.slice(0, 2), wanted('c', start, { cause: 'xid-48' })]],
    ['another domain', [...three.slice(0, 2), wanted('c', start, { domains: ['rack=r8'] })]],
    ['a person', [...three.slice(0, 2), wanted('c', start, { byOperator: true })]],
    ['the same node', [...three.slice(0, 2), wanted('b', start + 1)]],
    ['a begin long ago', [...three.slice(0, 2), wanted('c', start - 6 * minute)]],
    ['a begin that is not known', [...three.slice(0, 2), wanted('c', start, { incident: 'node/c' })]],
    ['no cause', [...three.slice(0, 2), { node: 'c', nodeUid: 'c', incident: wanted('c', start).incident }]],
  ])('are none with %s', (_, all) => {
    expect(after(all).open).toEqual([]);
  });

  it('are none when held quarantines ask again at the same time, hours after they began', () => {
    const one = after([wanted('a', start)]);
    const two = after([wanted('b', start + 60 * minute)], start + 60 * minute, one);
    const again = [wanted('a', start), wanted('b', start + 60 * minute), wanted('c', start + 120 * minute)];
    expect(after(again, start + 120 * minute, two).open).toEqual([]);
  });

  it('are one incident where they share a rack and its zone', () => {
    const domains = ['rack=r7', 'topology.kubernetes.io/zone=a'];
    const twelve = Array.from({ length: 12 }, (_, number) => wanted(`n${number}`, start, { domains }));
    expect(after(twelve).open).toMatchObject([{ place: 'rack=r7', nodes: twelve.map(({ node }) => node) }]);
    expect(twelve.reduce((storms, one, ms) => after([one], start + ms, storms), noStorms).open).toHaveLength(1);
  });

  it('are two incidents with two ids where some of them are in another rack of the zone', () => {
    const zone = 'topology.kubernetes.io/zone=a';
    const all = ['a', 'b', 'c', 'd'].map((node) =>
      wanted(node, start, { domains: [node === 'd' ? 'rack=r8' : 'rack=r7', zone] }),
    );
    expect(after(all).open).toMatchObject([
      { id: 'storm/xid-79/rack=r7/2026-11-21T07:00:00.000Z', nodes: ['a', 'b', 'c'] },
      { id: 'storm/xid-79/topology.kubernetes.io-zone=a/2026-11-21T07:00:00.000Z', nodes: ['a', 'b', 'c', 'd'] },
    ]);
  });

  it('have an id of bounded length, with the whole name and value of the label', () => {
    const label = `${'d'.repeat(63)}=${'v'.repeat(63)}`;
    const [storm] = after(three.map((one) => ({ ...one, domains: [`${'p.'.repeat(126)}/${label}`] }))).open;
    expect(storm?.id).toBe(`storm/xid-79/${label}/2026-11-21T07:00:00.000Z`);
  });

  it('count in the whole cluster where their nodes have no domain', () => {
    expect(after(three.map((one) => ({ ...one, domains: [] }))).open[0]?.place).toBe('the cluster');
  });
});

describe('repairs of nodes with one cause', () => {
  const quiet = start + 10 * minute;
  const storm = after(three);

  it('wait for quiet, and a further node begins that time again; other nodes are not held up', () => {
    expect(whyStorm(storm, 'a', [], quiet - 1)).toContain(
      'repairs begin at 2026-11-21T07:10:00.000Z if no other follows',
    );
    expect(whyStorm(storm, 'z', [], start)).toBeUndefined();
    const longer = after([wanted('d', start + minute)], start + minute, storm);
    expect(whyStorm(longer, 'd', [], quiet)).toContain('4 nodes of rack=r7 with xid-79');
    // The same node again is nothing new.
    expect(after([wanted('d', start + minute)], start + 9 * minute, longer)).toEqual(longer);
  });

  it('begin one by one, then two, then four at once; then the incident is over', () => {
    expect(whyStorm(storm, 'a', [], quiet)).toBeUndefined();
    expect(whyStorm(storm, 'b', [repair('a')], quiet)).toContain('1 of them may be under repair at once');
    expect(whyStorm(storm, 'b', [repair('z')], quiet)).toBeUndefined();
    const second = withRepairEnded(storm, 'a', 'cured', quiet);
    expect(whyStorm(second, 'b', [repair('c')], quiet)).toBeUndefined();
    expect(whyStorm(second, 'b', [repair('c'), repair('a')], quiet)).toContain('2 of them');
    const third = ['b', 'c'].reduce((storms, node) => withRepairEnded(storms, node, 'cured', quiet), second);
    expect(whyStorm(third, 'a', [repair('b'), repair('c'), repair('a')], quiet)).toBeUndefined();
    const last = ['a', 'b', 'c'].reduce((storms, node) => withRepairEnded(storms, node, 'cured', quiet), third);
    expect(last.open[0]?.helped).toBe(6);
    expect(withRepairEnded(last, 'c', 'cured', quiet).open).toEqual([]);
  });

  it.each(['exhausted', 'retired', undefined])('wait once more after one that ended as %s', (outcome) => {
    const second = withRepairEnded(storm, 'a', 'cured', quiet);
    const failed = withRepairEnded(second, 'b', outcome, quiet + minute);
    expect(whyStorm(failed, 'c', [], quiet + 10 * minute)).toContain('repairs begin at');
    expect(failed.open[0]?.helped).toBe(0);
    expect(withRepairEnded(second, 'b', 'cancelled', quiet)).toEqual(second);
  });

  it('are not held any more when every node is back in service', () => {
    expect(withReturned(storm, new Set(['c']), quiet)).toBe(storm);
    expect(withReturned(storm, new Set(), quiet - 1)).toBe(storm);
    expect(withReturned(storm, new Set(), quiet).open).toEqual([]);
  });

  it('never run in a greater number than those that helped allow, and what is kept is bounded, in any order of events', () => {
    const node = fc.nat(30).map((number) => `n${number}`);
    const event = fc.oneof(
      fc.record({ kind: fc.constant('seen' as const), node, rack: fc.nat(2), cause: fc.nat(2) }),
      fc.record({ kind: fc.constant('ask' as const), node }),
      fc.record({ kind: fc.constant('end' as const), node, outcome: fc.constantFrom('cured', 'exhausted', undefined) }),
      fc.record({ kind: fc.constant('pass' as const), minutes: fc.nat(12) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200, size: 'max' }), (events) => {
        let [storms, now] = [noStorms, start];
        const running = new Map<string, ReturnType<typeof repair>>();
        for (const one of events) {
          if (one.kind === 'pass') now += one.minutes * minute;
          else if (one.kind === 'seen')
            storms = after(
              [wanted(one.node, now, { cause: `c${one.cause}`, domains: [`rack=${one.rack}`] })],
              now,
              storms,
            );
          else if (one.kind === 'end' && running.delete(one.node))
            storms = withRepairEnded(storms, one.node, one.outcome, now);
          else if (one.kind === 'ask' && !running.has(one.node)) {
            const others = [...running.values()];
            if (whyStorm(storms, one.node, others, now) !== undefined) continue;
            running.set(one.node, repair(one.node));
            for (const { nodes, until, helped } of storms.open.filter((storm) => storm.nodes.includes(one.node))) {
              expect(now).toBeGreaterThanOrEqual(until);
              expect(others.filter((other) => nodes.includes(other.node)).length).toBeLessThan(
                [1, 2, 2, 4, 4, 4, 4][helped] ?? 0,
              );
            }
          }
          expect(storms.open.length).toBeLessThanOrEqual(20);
          expect(JSON.parse(JSON.stringify(storms))).toEqual(storms);
        }
      }),
      { numRuns: 300 },
    );
  });
});
