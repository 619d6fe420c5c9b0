import { describe, expect, it } from '@jest/globals';
import { NodeMemory } from '../../workflows/node-memory.ts';
import { kernelFault } from '../support/builders.ts';

describe('what a node’s workflow remembers', () => {
  it('releases no later quarantine at a word about one that came to nothing', () => {
    const memory = new NodeMemory(undefined, 0);
    const decided = { kind: 'quarantine', because: 'xid/79', faults: [kernelFault()], quietMs: 1, askAgainMs: 1, settings: 'x', at: 1 } as const;
    memory.hold(decided, 'node/gpu-3/1', undefined);
    memory.release = { by: 'ada', reason: 'replaced the card' };
    expect(memory.mayRelease()).toBe(true);
    memory.drop();
    memory.hold(decided, 'node/gpu-3/2', undefined);
    expect([memory.mayRelease(), memory.held?.incident]).toEqual([false, 'node/gpu-3/2']);
  });
});
