/**
 * At most one controller leads. A Lease is claimed with optimistic locking and renewed; a leader that cannot renew stops by its own clock
 * before another controller may claim the Lease. Clocks of two machines are never compared: a foreign Lease has expired when it was seen unchanged
 * for its whole duration by our monotonic clock.
 */

import { KcoverError } from '../../contract/errors.ts';
import type { HeldLease, Lease, LeaseStore } from '../../kube/client/leases.ts';

/** Time for elections; `now` is monotonic, ms. */
export interface Clock {
  readonly now: () => number;
  /** RFC 3339. */
  readonly wall: () => string;
  /** Resolves early, without an error, when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface LeaseTiming {
  /** How long the others wait after the last renewal. */
  readonly lease: number;
  /** How long a leader goes on without a renewal; less than `lease`. */
  readonly renew: number;
  /** Pause between tries. */
  readonly retry: number;
}

export interface LeadershipOptions {
  readonly store: LeaseStore;
  /** Unique among all processes. */
  readonly identity: string;
  readonly timing: LeaseTiming;
  readonly clock: Clock;
  readonly onTrouble?: (error: KcoverError) => void;
}

export interface Leadership {
  /** False from the moment at which the last renewal is too old, even before anything else has noticed. */
  leading(): boolean;
  /** Resolves with `true` when elected, with `false` when stopped before. */
  readonly elected: Promise<boolean>;
  readonly ended: Promise<'stopped' | 'lost-lease'>;
  /** Releases the Lease, so that the next leader need not wait. */
  stop(): Promise<void>;
}

/** A foreign Lease, and since when it has been unchanged. */
export interface LeaseObservation {
  readonly lease: HeldLease;
  readonly since: number;
}

/** What to do about a Lease that was read. */
export type LeaseClaim =
  | { readonly kind: 'create' }
  | { readonly kind: 'take'; readonly over: HeldLease }
  | { readonly kind: 'wait'; readonly observation: LeaseObservation };

/** Pure: `before` is the last observation, `now` our monotonic clock. */
export function decideClaim(
  read: HeldLease | undefined,
  before: LeaseObservation | undefined,
  identity: string,
  now: number,
): LeaseClaim {
  if (!read) return { kind: 'create' };
  if (read.holder === '' || read.holder === identity) return { kind: 'take', over: read };
  const unchanged =
    before !== undefined && before.lease.holder === read.holder && before.lease.renewedAt === read.renewedAt;
  const observation = unchanged ? { lease: read, since: before.since } : { lease: read, since: now };
  return now - observation.since >= Math.max(read.durationMs, 1000)
    ? { kind: 'take', over: read }
    : { kind: 'wait', observation };
}

/** Leads from the start, without an election: for a single replica. */
export function leadAlone(): Leadership {
  const end = Promise.withResolvers<'stopped'>();
  let leads = true;
  return {
    leading: () => leads,
    elected: Promise.resolve(true),
    ended: end.promise,
    stop: async () => {
      leads = false;
      end.resolve('stopped');
    },
  };
}

/** Stands for election until elected, then renews until stopped or lost. */
export function standForElection(options: LeadershipOptions): Leadership {
  const { store, identity, timing, clock } = options;
  const stopping = new AbortController();
  const elected = Promise.withResolvers<boolean>();
  let held: { readonly lease: HeldLease; readonly until: number } | undefined;

  /** The time counts from before the request: the Lease may have been written at any moment after it. */
  async function write(over: HeldLease | undefined): Promise<void> {
    const from = clock.now();
    const lease = leaseOf(over);
    const written = await inTime(
      over ? store.replace({ ...lease, resourceVersion: over.resourceVersion }) : store.create(lease),
      timing.retry * 2,
      clock,
    );
    held = { lease: written, until: from + timing.renew };
  }

  function leaseOf(over: HeldLease | undefined): Lease {
    const now = clock.wall();
    const ours = over?.holder === identity;
    return {
      holder: identity,
      durationMs: timing.lease,
      acquiredAt: ours ? over.acquiredAt : now,
      renewedAt: now,
      transitions: (over?.transitions ?? 0) + (over && !ours ? 1 : 0),
    };
  }

  async function claim(): Promise<void> {
    let observation: LeaseObservation | undefined;
    while (!held && !stopping.signal.aborted) {
      try {
        const decision = decideClaim(
          await inTime(store.read(), timing.retry * 2, clock),
          observation,
          identity,
          clock.now(),
        );
        if (decision.kind === 'wait') observation = decision.observation;
        else await write(decision.kind === 'take' ? decision.over : undefined);
      } catch (error) {
        report(error);
      }
      if (!held) await clock.sleep(timing.retry * (0.8 + Math.random() * 0.4), stopping.signal);
    }
  }

  async function renew(): Promise<void> {
    while (held && clock.now() < held.until && !stopping.signal.aborted) {
      await clock.sleep(Math.min(timing.retry, held.until - clock.now()), stopping.signal);
      if (stopping.signal.aborted || clock.now() >= held.until) return;
      try {
        await write(held.lease);
      } catch (error) {
        report(error);
        if (await foreign(error)) return;
      }
    }
  }

  /** After a conflict the Lease is read: our own write whose answer was lost still counts, another holder's does not. */
  async function foreign(error: unknown): Promise<boolean> {
    if (!(error instanceof KcoverError) || (error.code !== 'kube.conflict' && error.code !== 'not-found')) return false;
    try {
      const read = await inTime(store.read(), timing.retry * 2, clock);
      if (!held || read?.holder !== identity) return true;
      held = { lease: read, until: held.until };
      return false;
    } catch (problem) {
      report(problem);
      return false;
    }
  }

  async function run(): Promise<'stopped' | 'lost-lease'> {
    await claim();
    const won = held !== undefined && !stopping.signal.aborted;
    elected.resolve(won);
    if (won) await renew();
    const stopped = stopping.signal.aborted;
    if (!stopped) held = undefined;
    await releaseLease();
    return stopped ? 'stopped' : 'lost-lease';
  }

  async function releaseLease(): Promise<void> {
    const last = held;
    held = undefined;
    if (!last) return;
    try {
      await inTime(
        store.replace({ ...last.lease, holder: '', durationMs: 1000, renewedAt: clock.wall() }),
        timing.retry * 2,
        clock,
      );
    } catch (error) {
      report(error);
    }
  }

  function report(error: unknown): void {
    const known =
      error instanceof KcoverError
        ? error
        : new KcoverError('kube.unreachable', error instanceof Error ? error.message : 'unknown failure');
    // Losing a race for the Lease is normal in an election.
    if (known.code !== 'kube.conflict') options.onTrouble?.(known);
  }

  const ended = run();
  return {
    leading: () => held !== undefined && clock.now() < held.until && !stopping.signal.aborted,
    elected: elected.promise,
    ended,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/** A request without an answer must not keep us from noticing that the Lease ran out. */
async function inTime<T>(request: Promise<T>, ms: number, clock: Clock): Promise<T> {
  const done = new AbortController();
  request.catch(() => undefined);
  try {
    const late = clock.sleep(ms, done.signal).then(() => {
      throw new KcoverError('kube.unreachable', `no answer within ${ms} ms`);
    });
    late.catch(() => undefined);
    return await Promise.race([request, late]);
  } finally {
    done.abort();
  }
}
