import { describe, expect, it } from '@jest/globals';
import { silentNodes } from '../../policy/agent-liveness.ts';

const graceMs = 60_000;

describe('an agent', () => {
  it.each<[string, number | undefined, number, boolean]>([
    ['is not silent while the leader is younger than the grace period, though it was never heard', undefined, 159_999, false],
    ['is not silent because a leader before heard it long ago', 1, 159_999, false],
    ['is silent when this leader has never heard it for longer than that', undefined, 160_001, true],
    ['is not silent while it was heard within the grace period', 150_000, 200_000, false],
    ['is silent when it was heard by this leader, and not for longer than that', 150_000, 210_001, true],
  ])('%s', (_sentence, lastSeen, now, silent) => {
    const liveness = { nodes: ['gpu-3'], lastSeenAt: () => lastSeen, ledSince: 100_000, graceMs };
    expect(silentNodes(liveness, now)).toEqual(silent ? ['gpu-3'] : []);
  });
});
