import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { controllerSettings } from '../../contract/settings/settings.schema.ts';
import { followOutages } from '../../controller/watch/outages.ts';

const log = pino({ enabled: false });
const node = (name: string, ready: 'True' | 'Unknown', transition = '2026-11-21T07:00:00Z') => ({
  metadata: { name, uid: `uid-${name}` },
  status: {
    capacity: { 'nvidia.com/gpu': '8' },
    conditions: [{ type: 'Ready', status: ready, lastTransitionTime: new Date(transition) }],
  },
});
const names = (count: number) => Array.from({ length: count }, (_, index) => `gpu-${index}`);

function follow(notReady: string) {
  const reported: string[] = [];
  const { nodes } = controllerSettings.parse({ nodes: { notReady } });
  const outages = followOutages({
    settings: nodes,
    notify: (_, fault) => reported.push(fault.id),
    log,
    signal: new AbortController().signal,
  });
  return { outages, reported };
}

/** Long compared with the settings of these tests: for waits in which nothing may happen. */
const aWhile = () => sleep(400);
const become = async (reported: readonly string[], wanted: readonly string[]) => {
  for (let looks = 0; looks < 200 && reported.length < wanted.length; looks++) await sleep(50);
  expect(reported.toSorted()).toEqual(wanted);
};
const idOf = (name: string, transition = '2026-11-21T07:00:00Z') => `node/not-ready/uid-${name}/${transition}`;

describe('nodes that are not ready', () => {
  it('are judged when the whole list is known, at any place in it', async () => {
    const { outages, reported } = follow('50ms');
    for (const name of names(20))
      outages.see(node(name, name === 'gpu-0' || name === 'gpu-1' || name === 'gpu-2' ? 'Unknown' : 'True'));
    await aWhile();
    expect(reported).toEqual([]);
    outages.setReachable(true);
    await become(
      reported,
      ['gpu-0', 'gpu-1', 'gpu-2'].map((name) => idOf(name)),
    );
  });

  it('are reported once for each outage', async () => {
    const { outages, reported } = follow('50ms');
    outages.setReachable(true);
    for (const [ready, transition] of [
      ['Unknown', '2026-11-21T07:00:00Z'],
      ['True', '2026-11-21T07:10:00Z'],
      ['Unknown', '2026-11-21T07:20:00Z'],
    ] as const) {
      for (let again = 0; again < 3; again++) outages.see(node('gpu-0', ready, transition));
      await aWhile();
    }
    await become(reported, [idOf('gpu-0'), idOf('gpu-0', '2026-11-21T07:20:00Z')]);
  });

  it('are reported although the watch is cut again and again before the time is over', async () => {
    const { outages, reported } = follow('400ms');
    outages.setReachable(true);
    outages.see(node('gpu-0', 'Unknown'));
    for (let cuts = 0; cuts < 40 && reported.length === 0; cuts++) {
      await sleep(100);
      outages.setReachable(false);
      await sleep(5);
      outages.setReachable(true);
    }
    expect(reported).toEqual([idOf('gpu-0')]);
  });

  it('are reported although another node is not ready from time to time, so that too many are out at those times', async () => {
    const { outages, reported } = follow('400ms');
    outages.setReachable(true);
    for (const name of names(10)) outages.see(node(name, Number(name.slice(4)) < 2 ? 'Unknown' : 'True'));
    for (let times = 0; times < 40 && reported.length === 0; times++) {
      await sleep(100);
      outages.see(node('gpu-2', 'Unknown'));
      outages.see(node('gpu-2', 'True'));
    }
    expect(reported.toSorted()).toEqual([idOf('gpu-0'), idOf('gpu-1')]);
  });

  it('are not reported for time in which they were not observed', async () => {
    const { outages, reported } = follow('300ms');
    outages.setReachable(true);
    outages.see(node('gpu-0', 'Unknown'));
    outages.setReachable(false);
    // First seen in the list with which the watch comes back.
    outages.see(node('gpu-1', 'Unknown'));
    await aWhile();
    outages.setReachable(true);
    outages.see(node('gpu-0', 'True', '2026-11-21T07:10:00Z'));
    outages.see(node('gpu-1', 'True', '2026-11-21T07:10:00Z'));
    await aWhile();
    expect(reported).toEqual([]);
  });

  it('are not judged while they cannot be observed, and that time does not count afterwards', async () => {
    const { outages, reported } = follow('300ms');
    outages.setReachable(true);
    outages.see(node('gpu-0', 'Unknown'));
    outages.setReachable(false);
    await aWhile();
    outages.setReachable(true);
    expect(reported).toEqual([]);
    await become(reported, [idOf('gpu-0')]);
  });

  it('are judged later, by the time in which too many were out to judge', async () => {
    const { outages, reported } = follow('300ms');
    outages.setReachable(true);
    for (const name of names(10)) outages.see(node(name, Number(name.slice(4)) < 3 ? 'Unknown' : 'True'));
    await aWhile();
    outages.see(node('gpu-2', 'True'));
    expect(reported).toEqual([]);
    await become(reported, [idOf('gpu-0'), idOf('gpu-1')]);
  });
});
