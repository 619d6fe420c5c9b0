import { describe, expect, it } from '@jest/globals';
import { NodeState } from '../../workflows/node-state.ts';
import { kernelFault } from '../support/builders.ts';

describe('what a node’s workflow remembers', () => {
  it('does not apply a release to a later quarantine when its own came to nothing', () => {
    const state = new NodeState(undefined, 0);
    const decided = { kind: 'quarantine', because: 'xid/79', faults: [kernelFault()], quietMs: 1, askAgainMs: 1, settings: 'x', at: 1 } as const;
    state.hold(decided, 'node/gpu-3/1', undefined);
    state.release = { by: 'ada', reason: 'replaced the card' };
    expect(state.mayRelease()).toBe(true);
    state.drop();
    state.hold(decided, 'node/gpu-3/2', undefined);
    expect([state.mayRelease(), state.held?.incident]).toEqual([false, 'node/gpu-3/2']);
  });
});
