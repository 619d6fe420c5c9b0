import { describe, expect, it } from '@jest/globals';
import { linkFault } from '../../../faults/link/link-fault.ts';
import type { PortState } from '../../../faults/link/port.ts';
import { type Instant, observePort, type PortFinding, type PortHistory } from '../../../faults/link/port-history.ts';

const limits = { downMs: 60_000, unobservedMs: 60_000 };
const up: PortState = { kind: 'active' };
const down: PortState = { kind: 'inactive', state: 'DOWN', physState: 'Polling' };
const init: PortState = { kind: 'inactive', state: 'INIT', physState: 'LinkUp' };
const gone: PortState = { kind: 'gone' };

/** Seconds since the boot; the wall clock says the same unless it is set. */
const at = (seconds: number, wallSeconds = seconds): Instant => ({
  monotonicMs: seconds * 1000,
  time: new Date(Date.UTC(2026, 10, 22, 7) + wallSeconds * 1000).toISOString(),
});

type Step = readonly [seconds: number, state: PortState, wallSeconds?: number];

/** Findings with the second in which they were made; the state is stored and read back between any two observations. */
function play(steps: readonly Step[]): (PortFinding & { at: number })[] {
  let history: PortHistory | undefined;
  return steps.flatMap(([seconds, state, wall]) => {
    const seen = observePort(history, state, at(seconds, wall), limits);
    history = seen.history === undefined ? undefined : (JSON.parse(JSON.stringify(seen.history)) as PortHistory);
    return seen.finding ? [{ ...seen.finding, at: seconds }] : [];
  });
}

/** Observations every 5 s, from one second to before another. */
const every = (from: number, to: number, state: PortState): Step[] =>
  Array.from({ length: Math.ceil((to - from) / 5) }, (_, index) => [from + index * 5, state] as const);

const kinds = (steps: readonly Step[]) => play(steps).map(({ kind, at: second }) => `${kind} at ${second}`);

describe('a port', () => {
  it('that was never ACTIVE gives nothing, however long it is down', () => {
    expect(play([...every(0, 600, down), ...every(600, 900, gone)])).toEqual([]);
  });

  it('that was ACTIVE and then is not for the whole time gives one fault, since its first observation', () => {
    expect(play([...every(0, 20, up), ...every(20, 600, down)])).toEqual([
      { kind: 'down', since: at(20).time, at: 80 },
    ]);
  });

  it('is down in every state but ACTIVE, and the time goes on when that state changes', () => {
    expect(kinds([...every(0, 20, up), ...every(20, 50, down), ...every(50, 600, init)])).toEqual(['down at 80']);
  });

  it('is gone when its device is, once for the same fall', () => {
    expect(kinds([...every(0, 20, up), ...every(20, 600, gone)])).toEqual(['gone at 80']);
    expect(kinds([...every(0, 20, up), ...every(20, 50, down), ...every(50, 600, gone)])).toEqual(['gone at 80']);
    expect(kinds([...every(0, 20, up), ...every(20, 90, down), ...every(90, 600, gone)])).toEqual(['down at 80']);
  });

  it('that is up again in time gives nothing', () => {
    expect(kinds([...every(0, 20, up), ...every(20, 75, down), ...every(75, 600, up)])).toEqual([]);
  });

  it('that falls again after a fault gives another one', () => {
    const found = play([
      ...every(0, 20, up),
      ...every(20, 100, down),
      ...every(100, 200, up),
      ...every(200, 300, down),
    ]);
    expect(found).toEqual([
      { kind: 'down', since: at(20).time, at: 80 },
      { kind: 'down', since: at(200).time, at: 260 },
    ]);
  });

  it('is flapping when it fell three times within an hour, and that is reported once an hour', () => {
    const flap = (from: number): Step[] => [...every(from, from + 30, down), ...every(from + 30, from + 60, up)];
    expect(kinds([...every(0, 60, up), ...flap(60), ...flap(120)])).toEqual([]);
    const steady = [...every(0, 60, up), ...Array.from({ length: 100 }, (_, index) => flap(60 + index * 60)).flat()];
    expect(kinds(steady)).toEqual(['flapping at 210', 'flapping at 3810']);
  });

  it('is not flapping when the falls are further apart, or are faults of their own', () => {
    const flap = (from: number, length: number): Step[] => [
      ...every(from, from + length, down),
      ...every(from + length, from + 1810, up),
    ];
    expect(kinds([...every(0, 5, up), ...[5, 1815, 3625, 5435].flatMap((from) => flap(from, 30))])).toEqual([]);
    expect(kinds([...every(0, 5, up), ...flap(5, 100), ...flap(1815, 30), ...flap(3625, 30)])).toEqual(['down at 65']);
  });

  it('that no agent observed for longer may have been up meanwhile: the fall begins anew', () => {
    expect(
      play([
        [0, up],
        [5, down],
        [70, down],
        [125, down],
        [130, down],
      ]),
    ).toEqual([{ kind: 'down', since: at(70).time, at: 130 }]);
    expect(
      kinds([
        [0, up],
        [5, down],
        [50, down],
        [65, down],
      ]),
    ).toEqual(['down at 65']);
  });

  it('whose fall was reported is the same fall however long no agent observed it', () => {
    expect(kinds([...every(0, 10, up), ...every(10, 80, down), ...every(5000, 5200, down)])).toEqual(['down at 70']);
  });

  it.each([7200, -7200])('is judged by the monotonic clock, although the wall clock is set by %i s', (step) => {
    const steps: Step[] = [
      ...every(0, 20, up),
      ...every(20, 50, down),
      ...every(50, 600, down).map(([second, state]): Step => [second, state, second + step]),
    ];
    expect(play(steps)).toEqual([{ kind: 'down', since: at(20).time, at: 80 }]);
    expect(
      kinds([
        ...every(0, 20, up),
        ...every(20, 50, down).map(([second, state]): Step => [second, state, second + step]),
        ...every(50, 600, up),
      ]),
    ).toEqual([]);
  });

  it('is observed anew when the monotonic clock is not the one of before', () => {
    expect(
      kinds([
        [5000, up],
        [5005, down],
        [10, down],
        [60, down],
        [70, down],
      ]),
    ).toEqual(['down at 70']);
  });
});

describe('the fault of a port', () => {
  const port = { device: 'mlx5_3', port: 1, layer: 'InfiniBand', pci: '0000:5d:00' };
  const fault = (kind: PortFinding['kind'], state: PortState, more: object = {}) =>
    linkFault({
      node: 'gpu-3',
      port: { ...port, ...more },
      finding: { kind, since: at(20).time },
      state,
      now: at(80),
      limits,
    });

  it.each([
    ['down', down, 'InfiniBand link mlx5_3 port 1 is DOWN (Polling) since 2026-11-22T07:00:20.000Z', 'contact-support'],
    ['down', init, 'InfiniBand link mlx5_3 port 1 is INIT (LinkUp) since 2026-11-22T07:00:20.000Z', 'contact-support'],
    ['gone', gone, 'InfiniBand link mlx5_3 port 1 is gone since 2026-11-22T07:00:20.000Z', 'contact-support'],
    [
      'flapping',
      up,
      'InfiniBand link mlx5_3 port 1 was down 3 times within 1h, each time for less than 1m, the last time since 2026-11-22T07:00:20.000Z',
      undefined,
    ],
  ] as const)('that is %s says what is known, and what to do', (kind, state, message, action) => {
    expect(fault(kind, state)).toEqual({
      id: `link/gpu-3/mlx5_3/1/${kind}/2026-11-22T07:00:20.000Z`,
      source: 'link',
      code: `link/${kind}`,
      message,
      seenAt: '2026-11-22T07:01:20.000Z',
      node: 'gpu-3',
      device: '0000:5d:00',
      ...(action && { action }),
    });
  });

  it('names no device where the PCI address is unknown', () => {
    expect(fault('down', down, { pci: undefined })).not.toHaveProperty('device');
  });
});
