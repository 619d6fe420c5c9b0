import { describe, expect, it } from '@jest/globals';
import { silentNodes } from '../../../policy/node/agent-liveness.ts';

const graceMs = 60_000;

describe('an agent', () => {
  it.each<[string, number | undefined, number, boolean]>([
    [
      'is not silent while the leader has led for less than the grace period, though it has never reported',
      undefined,
      159_999,
      false,
    ],
    ['is not silent because it last reported to an earlier leader long ago', 1, 159_999, false],
    ['is silent when it has not reported to this leader for longer than that', undefined, 160_001, true],
    ['is not silent while it reported within the grace period', 150_000, 200_000, false],
    ['is silent when it reported to this leader, and then not for longer than that', 150_000, 210_001, true],
  ])('%s', (_sentence, lastSeen, now, silent) => {
    const liveness = { nodes: ['gpu-3'], lastSeenAt: () => lastSeen, ledSince: 100_000, graceMs };
    expect(silentNodes(liveness, now)).toEqual(silent ? ['gpu-3'] : []);
  });
});
