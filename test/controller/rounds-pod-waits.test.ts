import { describe, expect, it } from '@jest/globals';
import { openPodWaits } from '../../controller/preflight/rounds/pod-waits.ts';

function cluster(withinMs = 60_000) {
  const pods = new Map<string, string>();
  const over = new AbortController();
  const podWaits = openPodWaits({ podOf: (uid: string) => pods.get(uid), withinMs, signal: over.signal, most: 2 });
  return { ...podWaits, pods, over };
}

describe('a pod that asks before it is known', () => {
  it('is waited for', async () => {
    const { await: seen, pods, waiting } = cluster();
    const asking = seen('a');
    expect(waiting()).toBe(1);
    pods.set('a', 'pod');
    expect(await asking).toBe('pod');
    expect(waiting()).toBe(0);
  });

  it('is not waited for when it is known', async () => {
    const { await: seen, pods } = cluster();
    pods.set('a', 'pod');
    expect(await seen('a')).toBe('pod');
  });

  it('waits with one request: a second one ends the first', async () => {
    const { await: seen, pods, waiting } = cluster();
    const [first, second] = [seen('a'), seen('a')];
    expect(await first).toBe('asked again');
    expect(waiting()).toBe(1);
    pods.set('a', 'pod');
    expect(await seen('a')).toBe('pod');
    expect(await second).toBe('asked again');
  });

  it('is refused when too many wait', async () => {
    const { await: seen, over } = cluster();
    const asking = [seen('a'), seen('b')];
    expect(await seen('c')).toBe('full');
    over.abort();
    expect(await Promise.all(asking)).toEqual(['unknown', 'unknown']);
  });

  it('is not waited for longer than that', async () => {
    expect(await cluster(0).await('a')).toBe('unknown');
  });
});
