import { describe, expect, it } from '@jest/globals';
import { KcoverError } from '../../../contract/errors.ts';
import { type Clock, decideClaim, type Leadership, standForElection } from '../../../controller/election/leadership.ts';
import type { HeldLease, Lease, LeaseStore } from '../../../kube/client/leases.ts';

const timing = { lease: 15_000, renew: 10_000, retry: 2000 };

/** Time that moves only when the test says so. */
function manualClock() {
  let now = 0;
  let timers: { readonly at: number; readonly wake: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    wall: () => new Date(Date.UTC(2026, 10, 21) + now).toISOString(),
    sleep: (ms, signal) =>
      new Promise((wake) => {
        if (signal.aborted) return wake();
        signal.addEventListener('abort', () => wake());
        timers.push({ at: now + ms, wake });
      }),
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  async function pass(ms: number): Promise<void> {
    const end = now + ms;
    for (; now < end; now = Math.min(end, now + 100)) {
      await settle();
      for (const { wake } of timers.filter(({ at }) => at <= now)) wake();
      timers = timers.filter(({ at }) => at > now);
    }
    await settle();
  }
  return { clock, pass, settle, jump: (ms: number) => (now += ms) };
}

/** One Lease in memory, with the locking of a real server. */
function fakeLease(first?: Lease) {
  let version = 1;
  let lease: HeldLease | undefined = first && { ...first, resourceVersion: '1' };
  let mode: 'works' | 'unreachable' | 'silent' | 'loses-answers' = 'works';
  const answer = async <T>(act: () => T): Promise<T> => {
    if (mode === 'silent') return new Promise<never>(() => undefined);
    if (mode === 'unreachable') throw new KcoverError('kube.unreachable', 'connection refused');
    const result = act();
    if (mode === 'loses-answers') throw new KcoverError('kube.unreachable', 'reset');
    return result;
  };
  const put = (next: Lease): HeldLease => (lease = { ...next, resourceVersion: String(++version) });
  const store: LeaseStore = {
    read: () => answer(() => lease),
    create: (next) =>
      answer(() => {
        if (lease) throw new KcoverError('kube.conflict', 'exists');
        return put(next);
      }),
    replace: (next) =>
      answer(() => {
        if (lease?.resourceVersion !== next.resourceVersion) throw new KcoverError('kube.conflict', 'changed');
        return put(next);
      }),
  };
  return { store, put, current: () => lease, now: (next: typeof mode) => (mode = next) };
}

const foreign: Lease = {
  holder: 'other',
  durationMs: 15_000,
  acquiredAt: '2020-01-01T00:00:00.000Z',
  renewedAt: '2020-01-01T00:00:00.000Z',
  transitions: 3,
};

function candidate(store: LeaseStore, clock: Clock, identity = 'me'): Leadership {
  return standForElection({ store, identity, timing, clock });
}

describe('what to do about a Lease', () => {
  const held: HeldLease = { ...foreign, resourceVersion: '7' };
  it.each<[string, HeldLease | undefined, number | undefined, number, string]>([
    ['creates one where there is none', undefined, undefined, 0, 'create'],
    ['takes one that was released', { ...held, holder: '' }, undefined, 0, 'take'],
    ['takes its own, whose first answer was lost', { ...held, holder: 'me' }, undefined, 0, 'take'],
    ['waits for a foreign one at first sight, however old its times look', held, undefined, 0, 'wait'],
    ['waits while it was not seen unchanged for its whole duration', held, 0, 14_999, 'wait'],
    ['takes a foreign one that was seen unchanged for its whole duration', held, 0, 15_000, 'take'],
    ['does not take a foreign one without a duration at first sight', { ...held, durationMs: 0 }, undefined, 0, 'wait'],
  ])('%s', (_sentence, read, since, now, expected) => {
    const before = since === undefined ? undefined : { lease: held, since };
    expect(decideClaim(read, before, 'me', now).kind).toBe(expected);
  });

  it('starts to wait again when the holder has renewed', () => {
    const renewed = { ...held, renewedAt: '2020-01-01T00:00:02.000Z' };
    expect(decideClaim(renewed, { lease: held, since: 0 }, 'me', 20_000)).toEqual({
      kind: 'wait',
      observation: { lease: renewed, since: 20_000 },
    });
  });
});

describe('leadership', () => {
  it('leads at once when there is no leader', async () => {
    const { clock, settle } = manualClock();
    const lease = fakeLease();
    const me = candidate(lease.store, clock);
    await settle();
    await expect(me.elected).resolves.toBe(true);
    expect(me.leading()).toBe(true);
    expect(lease.current()).toMatchObject({ holder: 'me', durationMs: 15_000, transitions: 0 });
  });

  it('takes over from a holder that is silent for the duration of its Lease, and counts the transition', async () => {
    const { clock, pass } = manualClock();
    const lease = fakeLease(foreign);
    const me = candidate(lease.store, clock);
    await pass(14_000);
    expect(me.leading()).toBe(false);
    await pass(4000);
    expect(me.leading()).toBe(true);
    expect(lease.current()).toMatchObject({ holder: 'me', transitions: 4 });
  });

  it('lets only one of two lead, and the other take over as soon as it stops', async () => {
    const { clock, pass } = manualClock();
    const lease = fakeLease();
    const both = [candidate(lease.store, clock, 'a'), candidate(lease.store, clock, 'b')] as const;
    await pass(30_000);
    expect(both.map((each) => each.leading())).toEqual([true, false]);
    await both[0].stop();
    expect(lease.current()?.holder).toBe('');
    await pass(3000);
    expect(both.map((each) => each.leading())).toEqual([false, true]);
    await expect(both[0].ended).resolves.toBe('stopped');
  });

  it('continues to lead over a short outage', async () => {
    const { clock, pass } = manualClock();
    const lease = fakeLease();
    const me = candidate(lease.store, clock);
    await pass(1000);
    lease.now('unreachable');
    await pass(7000);
    lease.now('works');
    await pass(30_000);
    expect(me.leading()).toBe(true);
  });

  it.each(['unreachable', 'silent'] as const)(
    'stops leading before its Lease runs out when the API server is %s',
    async (mode) => {
      const { clock, pass } = manualClock();
      const lease = fakeLease();
      const me = candidate(lease.store, clock);
      await pass(1000);
      lease.now(mode);
      await pass(12_000);
      expect(me.leading()).toBe(false);
      await pass(5000);
      await expect(me.ended).resolves.toBe('lost-lease');
    },
  );

  it('does not lead after a pause of the whole process, even before it has noticed', async () => {
    const { clock, pass, jump } = manualClock();
    const me = candidate(fakeLease().store, clock);
    await pass(1000);
    jump(11_000);
    expect(me.leading()).toBe(false);
  });

  it('is lost at once when another candidate holds the Lease', async () => {
    const { clock, pass } = manualClock();
    const lease = fakeLease();
    const me = candidate(lease.store, clock);
    await pass(1000);
    lease.put(foreign);
    await pass(2500);
    expect(me.leading()).toBe(false);
    await expect(me.ended).resolves.toBe('lost-lease');
    expect(lease.current()?.holder).toBe('other');
  });

  it('keeps a Lease whose renewal was written but not answered', async () => {
    const { clock, pass } = manualClock();
    const lease = fakeLease();
    const me = candidate(lease.store, clock);
    await pass(1000);
    lease.now('loses-answers');
    await pass(2500);
    lease.now('works');
    await pass(30_000);
    expect(me.leading()).toBe(true);
  });

  it('ends without having led when stopped as a candidate', async () => {
    const { clock, pass } = manualClock();
    const lease = fakeLease(foreign);
    const me = candidate(lease.store, clock);
    await pass(3000);
    await me.stop();
    await expect(me.elected).resolves.toBe(false);
    await expect(me.ended).resolves.toBe('stopped');
    expect(lease.current()?.holder).toBe('other');
  });
});
