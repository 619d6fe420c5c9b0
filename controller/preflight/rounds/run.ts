/**
 * The rounds of one run: its participants, the plans, and the answers to each rank. It uses no clock and no input or output.
 * Every request contains all results of its rank, so that a new leader derives the same plans as the one before.
 */

import { createHash } from 'node:crypto';
import type { Workload } from '../../../contract/preflight/preflight.ts';
import type { RoundFacts, RoundAnswer, RoundPlan, RoundRequest } from '../../../contract/preflight/rounds.ts';

/** A pod that tests its node. */
export interface RoundPod {
  readonly uid: string;
  readonly workload: Workload;
  readonly rank: number;
  readonly node: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

export type RoundReply =
  | { readonly kind: 'answer'; readonly answer: RoundAnswer }
  | { readonly kind: 'refused'; readonly because: string }
  /** No answer before another rank asks, or before this time (ms, of the clock of `now`). */
  | { readonly kind: 'hold'; readonly until: number; readonly because: string };

export interface RunOptions {
  readonly plan: (facts: RoundFacts) => RoundPlan;
  /** How long a round waits for a rank after the last request of another, ms. */
  readonly withinMs: number;
  /** `without`: ranks that took part before and did not come in time. */
  readonly onPlan?: (round: number, plan: RoundPlan, without: readonly number[]) => void;
}

export interface Run {
  ask(pod: RoundPod, request: RoundRequest, now: number): RoundReply;
  /** Changes when held requests may have an answer. */
  version(): number;
  /** Drops pods that are gone; false when none is left. */
  keep(isThere: (uid: string) => boolean): boolean;
}

interface RoundMember {
  readonly pod: RoundPod;
  readonly request: RoundRequest;
}

/** `past`: all participants had finished the round before this controller led. */
type Planned =
  | { readonly kind: 'done'; readonly because: string }
  | { readonly kind: 'past' }
  | { readonly kind: 'round'; readonly peers: Map<number, number> };

const done = (because: string): RoundReply => ({ kind: 'answer', answer: { kind: 'done', because } });

export function openRun({ plan, withinMs, onPlan }: RunOptions): Run {
  const members = new Map<number, RoundMember>();
  /** UIDs of pods that a newer pod of the same rank has replaced. */
  const replaced = new Set<string>();
  let planned: Planned[] = [];
  let seed: string | undefined;
  let version = 0;
  let size = 0;
  /** Of the next round: the ranks whose results are in, the ranks it waits for, and when a request last came. */
  let ready = new Set<number>();
  let awaited = new Set<number>();
  let lastSeenAt = 0;

  function restart(): void {
    members.clear();
    ready.clear();
    planned = [];
    seed = undefined;
    version++;
  }

  /** Whether a newer pod has this rank; the older pod of the two is dropped. */
  function isReplaced(pod: RoundPod): boolean {
    if (replaced.has(pod.uid)) return true;
    const known = members.get(pod.rank)?.pod;
    if (!known || known.uid === pod.uid) return false;
    const isOlder = pod.createdAt < known.createdAt;
    replaced.add(isOlder ? pod.uid : known.uid);
    if (!isOlder) restart();
    return isOlder;
  }

  function objection({ rank }: RoundPod, request: RoundRequest): string | undefined {
    if (rank >= request.size) return `rank ${rank} is not below the size ${request.size}`;
    const others = members.size - (members.has(rank) ? 1 : 0);
    return others > 0 && request.size !== size
      ? `other ranks of this run say that there are ${size}, not ${request.size}`
      : undefined;
  }

  function register(pod: RoundPod, request: RoundRequest, now: number): void {
    if (planned.length === 0 && (members.size === 0 || size !== request.size))
      awaited = new Set(Array.from({ length: request.size }, (_, rank) => rank));
    size = request.size;
    members.set(pod.rank, { pod, request });
    if (request.results.length < planned.length) {
      // Its container was restarted: it has to catch up.
      if (ready.delete(pod.rank)) awaited.add(pod.rank);
      return;
    }
    awaited.delete(pod.rank);
    if (ready.has(pod.rank)) return;
    ready.add(pod.rank);
    lastSeenAt = now;
  }

  function advance(now: number): void {
    while (planned.at(-1)?.kind !== 'done' && ready.size > 0 && (awaited.size === 0 || now >= lastSeenAt + withinMs)) {
      const round = planned.length;
      const without = [...awaited];
      const participants = [...ready].toSorted((a, b) => a - b);
      const next = ready.size < 2 ? alone() : decide(round, participants);
      planned.push(next === 'past' ? { kind: 'past' } : rememberedOf(next));
      if (next !== 'past') onPlan?.(round, next, without);
      version++;
      ready = new Set(participants.filter((rank) => resultsOf(rank) > round));
      awaited = new Set(participants.filter((rank) => resultsOf(rank) <= round));
      lastSeenAt = now;
    }
  }

  const alone = (): RoundPlan => ({
    kind: 'done',
    because: `no other rank of ${size} asked within ${Math.round(withinMs / 1000)} s: there is no rank to test with`,
  });

  /** The facts of a round are the same for every leader: results of later rounds are left out. */
  function decide(round: number, participants: readonly number[]): RoundPlan | 'past' {
    seed ??= seedOf([...members.values()].map(({ pod }) => pod));
    if (participants.every((rank) => resultsOf(rank) > round)) return 'past';
    const ranks = participants.map((rank) => ({
      rank,
      node: members.get(rank)?.pod.node ?? '',
      results: members.get(rank)?.request.results.slice(0, round) ?? [],
    }));
    return plan({ size, ranks, round, seed });
  }

  const resultsOf = (rank: number): number => members.get(rank)?.request.results.length ?? 0;

  function answer({ rank }: RoundPod, round: number): RoundReply {
    const last = planned.at(-1);
    if (round >= planned.length && last?.kind !== 'done')
      return { kind: 'hold', until: lastSeenAt + withinMs, because: whomFor() };
    const found = planned[round] ?? last;
    if (found?.kind === 'done') return done(found.because);
    const peer = found?.kind === 'round' ? found.peers.get(rank) : undefined;
    const other = peer === undefined ? undefined : members.get(peer);
    // A partner that has finished the round, or is gone, would only be waited for.
    if (peer === undefined || !other || other.request.results.length > round)
      return { kind: 'answer', answer: { kind: 'idle', round } };
    const { pod, request } = other;
    return {
      kind: 'answer',
      answer: {
        kind: 'round',
        round,
        peer: { rank: peer, node: pod.node, address: request.address },
        lead: rank < peer,
      },
    };
  }

  function whomFor(): string {
    const some = [...awaited].slice(0, 5).join(', ');
    return `round ${planned.length} waits for rank ${some}${awaited.size > 5 ? ` and ${awaited.size - 5} more` : ''}`;
  }

  return {
    ask(pod, request, now) {
      if (isReplaced(pod)) return done('a newer pod has this rank');
      const because = objection(pod, request);
      if (because !== undefined) return { kind: 'refused', because };
      register(pod, request, now);
      advance(now);
      return answer(pod, request.results.length);
    },
    version: () => version,
    keep(isThere) {
      for (const uid of replaced) if (!isThere(uid)) replaced.delete(uid);
      for (const [rank, { pod }] of members) {
        if (isThere(pod.uid)) continue;
        members.delete(rank);
        if (ready.delete(rank)) awaited.add(rank);
      }
      return members.size > 0;
    },
  };
}

const rememberedOf = (plan: RoundPlan): Planned =>
  plan.kind === 'done'
    ? plan
    : {
        kind: 'round',
        peers: new Map(
          plan.pairs.flatMap(([one, other]) => [
            [one, other],
            [other, one],
          ]),
        ),
      };

/** From the workload and its present pods, so that another run has other partners. */
function seedOf(pods: readonly RoundPod[]): string {
  const uids = pods.map(({ uid }) => uid).toSorted();
  return `${pods[0]?.workload.uid ?? ''}/${createHash('sha256').update(uids.join()).digest('hex')}`;
}
