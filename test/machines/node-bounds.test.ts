import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults/faults.ts';
import { firstState, remember, withArrivals } from '../../workflows/node/state.ts';
import { faultsOf } from '../../workflows/node/status.ts';
import { kernelFault } from '../support/builders.ts';

const own = kernelFault({ id: 'kernel/boot-1/1', kernel: { bootId: 'boot-1', sequence: 1 } });
const pushed = (count: number): Fault[] =>
  Array.from({ length: count }, (_, index) =>
    kernelFault({
      id: `loki/${index}`,
      code: `xid/${1000 + index}`,
      untrusted: true,
      kernel: { bootId: 'boot-1', sequence: 10 + index },
    }),
  );
const decision = (faults: readonly Fault[]) =>
  ({ kind: 'record', because: '', faults, history: [], quietMs: 1, askAgainMs: 1, settings: '', at: 0 }) as const;

describe('lines that any account may push', () => {
  it('displace no fault of the node itself while they wait', () => {
    const full = withArrivals(firstState('gpu-3', 0), pushed(250), 0);
    expect({ waiting: full.inbox.length, dropped: full.dropped }).toEqual({ waiting: 200, dropped: 50 });
    const after = withArrivals(full, [own], 0);
    expect({ waiting: after.inbox.length, dropped: after.dropped }).toEqual({ waiting: 200, dropped: 51 });
    expect(after.inbox).toContain(own);
  });

  it('displace none that is known', () => {
    const known = remember(remember(firstState('gpu-3', 0), decision([own])), decision(pushed(60)));
    expect(known.faults).toHaveLength(50);
    expect(known.faults).toContainEqual(own);
  });

  it('explain no failure of a pod', () => {
    const quarantine = { incident: 'i', since: 0, because: 'x', reason: 'xid-79', taint: 'ours', by: 'ada' } as const;
    const state = { ...firstState('gpu-3', 0), phase: 'quarantined', quarantine, faults: [own, ...pushed(1)] } as const;
    expect(faultsOf(state as never).faults.map(({ id }) => id)).toEqual([own.id]);
  });
});
