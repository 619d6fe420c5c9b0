import { describe, expect, it } from '@jest/globals';
import { openSightings } from '../../controller/rounds/sightings.ts';

function world(withinMs = 60_000) {
  const pods = new Map<string, string>();
  const over = new AbortController();
  const sightings = openSightings({ podOf: (uid: string) => pods.get(uid), withinMs, signal: over.signal, most: 2 });
  return { ...sightings, pods, over };
}

describe('a pod that asks before it is known', () => {
  it('is waited for', async () => {
    const { await: seen, pods, waiting } = world();
    const asking = seen('a');
    expect(waiting()).toBe(1);
    pods.set('a', 'pod');
    expect(await asking).toBe('pod');
    expect(waiting()).toBe(0);
  });

  it('is not waited for when it is known', async () => {
    const { await: seen, pods } = world();
    pods.set('a', 'pod');
    expect(await seen('a')).toBe('pod');
  });

  it('waits with one request: a second one ends the first', async () => {
    const { await: seen, pods, waiting } = world();
    const [first, second] = [seen('a'), seen('a')];
    expect(await first).toBe('asked again');
    expect(waiting()).toBe(1);
    pods.set('a', 'pod');
    expect(await seen('a')).toBe('pod');
    expect(await second).toBe('asked again');
  });

  it('is sent away when too many wait', async () => {
    const { await: seen, over } = world();
    const asking = [seen('a'), seen('b')];
    expect(await seen('c')).toBe('full');
    over.abort();
    expect(await Promise.all(asking)).toEqual(['unknown', 'unknown']);
  });

  it('is not waited for longer than that', async () => {
    expect(await world(0).await('a')).toBe('unknown');
  });
});
