import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { followHeartbeats } from '../../../controller/ascend/heartbeats.ts';

const log = pino({ enabled: false });
const beat = (value: number) => ({ value: `${value}`, intervalMs: 50 });

let ending = new AbortController();
afterEach(() => ending.abort());

function rig() {
  const changes: string[] = [];
  ending = new AbortController();
  const heartbeats = followHeartbeats({ onChange: (node) => changes.push(node), log, signal: ending.signal });
  const becomes = async (node: string, lost: boolean) => {
    for (let looks = 0; looks < 400 && (heartbeats.whyLost(node) !== undefined) !== lost; looks++) await sleep(25);
    expect([node, heartbeats.whyLost(node) !== undefined]).toEqual([node, lost]);
  };
  return { heartbeats, changes, becomes };
}
/** Long compared with three intervals: for waits in which nothing may happen. */
const aWhile = () => sleep(400);

describe('NodeD', () => {
  it('is lost without heartbeats, each node on its own, and observes again with the next one', async () => {
    const { heartbeats, changes, becomes } = rig();
    heartbeats.setReachable(true);
    heartbeats.see('npu-1', 'Node', beat(1));
    heartbeats.see('npu-2', 'Node', { value: '1', intervalMs: 300_000 });
    await becomes('npu-1', true);
    expect(heartbeats.whyLost('npu-1')).toContain('no heartbeat');
    expect(heartbeats.whyLost('npu-2')).toBeUndefined();
    changes.length = 0;
    heartbeats.see('npu-1', 'Node', beat(2));
    expect([changes, heartbeats.whyLost('npu-1')]).toEqual([['npu-1'], undefined]);
    await becomes('npu-1', true);
  });

  it('is not judged while the watches are not up to date', async () => {
    const { heartbeats, becomes } = rig();
    heartbeats.see('npu-1', 'Node', beat(1));
    await aWhile();
    expect(heartbeats.whyLost('npu-1')).toBeUndefined();
    heartbeats.setReachable(true);
    heartbeats.setReachable(false);
    await aWhile();
    expect(heartbeats.whyLost('npu-1')).toBeUndefined();
    heartbeats.setReachable(true);
    await becomes('npu-1', true);
  });

  it('is forgotten with its node, and judged by no controller after the leader term', async () => {
    const { heartbeats, becomes } = rig();
    heartbeats.setReachable(true);
    heartbeats.see('npu-1', 'Node', beat(1));
    await becomes('npu-1', true);
    heartbeats.forget('npu-1');
    expect(heartbeats.whyLost('npu-1')).toBeUndefined();
    ending.abort();
    heartbeats.see('npu-2', 'Node', beat(1));
    await aWhile();
    expect(heartbeats.whyLost('npu-2')).toBeUndefined();
  });
});
