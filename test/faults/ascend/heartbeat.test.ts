import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  foldHeartbeat,
  heartbeatIn,
  heartbeatOf,
  type HeartbeatHistory,
  judgeHeartbeat,
  resumed,
} from '../../../faults/ascend/heartbeat.ts';

const beat = (value: string, intervalMs = 5000) => ({ value, intervalMs });
const seen = (value: string, now: number, before?: HeartbeatHistory): HeartbeatHistory => {
  const history = foldHeartbeat(before, 'Node', beat(value), now);
  if (!history) throw new Error('there are heartbeats');
  return history;
};
const isLost = (history: HeartbeatHistory, now: number) => judgeHeartbeat(history, now).isLost;

describe('the heartbeats of a node', () => {
  it('are lost after more than three intervals without a change, and not before', () => {
    const first = seen('1700000000', 1000);
    expect([isLost(first, 16_000), isLost(first, 16_001)]).toEqual([false, true]);
    const again = seen('1700000000', 9000, first);
    expect(isLost(again, 16_001)).toBe(true);
  });

  it('are there again with the first change, whatever time it names', () => {
    const lost = judgeHeartbeat(seen('1700000000', 0), 60_000);
    expect(seen('1700000000', 61_000, lost).isLost).toBe(true);
    for (const value of ['1700000005', '1600000000', '1'])
      expect(isLost(seen(value, 61_000, lost), 76_000)).toBe(false);
  });

  it('are not missed for the time in which nothing could be seen, and stay lost over it', () => {
    const history = resumed(seen('1', 0), 60_000);
    expect([isLost(history, 75_000), isLost(history, 75_001)]).toEqual([false, true]);
    expect(resumed(judgeHeartbeat(seen('1', 0), 60_000), 61_000).isLost).toBe(true);
  });

  it('may come from the Node object or from a NodeInfo: a change of either counts', () => {
    const both = foldHeartbeat(seen('1', 0), 'mindx-dl/NodeInfo', beat('1', 2000), 10_000);
    expect(both).toMatchObject({ since: 10_000, intervalMs: 2000 });
    const later = foldHeartbeat(both, 'Node', beat('2'), 14_000);
    expect(later).toMatchObject({ since: 14_000, isLost: false });
  });

  it('that are no longer written are not missed', () => {
    const lost = judgeHeartbeat(seen('1', 0), 60_000);
    expect(foldHeartbeat(lost, 'Node', undefined, 61_000)).toBeUndefined();
    expect(foldHeartbeat(undefined, 'Node', undefined, 0)).toBeUndefined();
  });

  it.each([
    [5, 5000],
    [1, 1000],
    [300, 300_000],
    [0, 5000],
    [301, 5000],
    [-1, 5000],
    ['60', 5000],
    [undefined, 5000],
  ])('have the interval %j of NodeD within its bounds', (interval, intervalMs) => {
    expect(heartbeatIn({ HeartbeatTime: 1700000000, HeartbeatInterval: interval })).toEqual({
      value: '1700000000',
      intervalMs,
    });
  });

  it('are read from annotations of the Node object of an early NodeD', () => {
    expect(heartbeatOf({ 'noded/heartbeat': '1700000000', 'noded/heartbeat-interval': '10' })).toEqual(
      beat('1700000000', 10_000),
    );
    expect([heartbeatOf({}), heartbeatOf(), heartbeatOf({ 'noded/heartbeat': '' })]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('are read from any text, within bounds', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.string(), fc.string(), (time, interval, value, text) => {
        const read = [
          heartbeatIn({ HeartbeatTime: time, HeartbeatInterval: interval }),
          heartbeatOf({ 'noded/heartbeat': value.repeat(100), 'noded/heartbeat-interval': text }),
        ];
        for (const one of read) {
          expect((one?.value ?? '').length).toBeLessThanOrEqual(40);
          expect(one?.intervalMs ?? 1000).toBeGreaterThanOrEqual(1000);
          expect(one?.intervalMs ?? 1000).toBeLessThanOrEqual(300_000);
        }
      }),
    );
  });
});
