import { describe, expect, it } from '@jest/globals';
import { bytesOf } from '../../contract/wire/signal-size.ts';
import { takeFaults } from '../../workflows/faults.ts';

const fault = (more: object = {}) => ({
  id: 'kernel/boot/7',
  source: 'kernel',
  code: 'xid/79',
  message: 'm',
  seenAt: '2026-11-21T07:00:00Z',
  ...more,
});

describe('faults that arrive in a workflow', () => {
  it('are dropped when their time is longer than a time can be', () => {
    const { faults, dropped } = takeFaults({
      faults: [fault(), fault({ seenAt: `2026-11-21T07:00:00.${'1'.repeat(900_000)}Z` })],
    });
    expect(faults).toEqual([fault()]);
    expect(dropped).toBe(1);
  });

  it('stay so small that hundreds of them fit into one payload, in whatever script they are written', () => {
    for (const character of ['x', '\u20AC', '\u0001']) {
      const text = character.repeat(500);
      const heavy = fault({
        message: text,
        unobservable: text,
        quarantine: { state: 'held', because: text },
        evidence: Array.from({ length: 5 }, () => text),
      });
      const { faults } = takeFaults({ faults: [heavy] });
      expect(bytesOf(faults)).toBeLessThan(5000);
      expect(faults[0]?.message).toBe(text.slice(0, 300));
    }
  });
});
