import { describe, expect, it } from '@jest/globals';
import type { RoundFacts, RoundAnswer, RoundPlan, RoundResult } from '../../contract/preflight/rounds.ts';
import { type RoundReply, openRun, type Run, type RoundPod } from '../../controller/preflight/rounds/run.ts';
import { planRound } from '../../policy/preflight/plan.ts';

const withinMs = 300_000;
const rounds = 3;

/** The circle method, with the seed in the names of the pairs, so that a change of it shows. */
function planned({ ranks, round }: RoundFacts): RoundPlan {
  if (round >= rounds) return { kind: 'done', because: `${rounds} rounds` };
  const [first, ...others] = [...ranks.map(({ rank }) => rank), ...(ranks.length % 2 === 0 ? [] : [-1])];
  const turned = [first ?? 0, ...others.slice(round % others.length), ...others.slice(0, round % others.length)];
  const pairs = Array.from(
    { length: turned.length / 2 },
    (_, i) => [turned[i] ?? 0, turned[turned.length - 1 - i] ?? 0] as const,
  );
  return {
    kind: 'round',
    pairs: pairs.filter((pair) => !pair.includes(-1)),
    idle: pairs
      .filter((pair) => pair.includes(-1))
      .flat()
      .filter((rank) => rank >= 0),
    because: 'in turn',
  };
}

const workload = { namespace: 'train', name: 'llm', uid: 'workload' };
const podOf = (rank: number, more: Partial<RoundPod> = {}): RoundPod => ({
  uid: `pod-${rank}`,
  workload,
  rank,
  node: `gpu-${rank}`,
  createdAt: '2026-11-21T07:00:00Z',
  ...more,
});

/** Ranks that follow their answers, one request after the other. */
class SimulatedJob {
  readonly facts: RoundFacts[] = [];
  readonly results: RoundResult[][];
  readonly size: number;
  run: Run;
  now = 0;

  readonly plan: (facts: RoundFacts) => RoundPlan;
  /** A rank that makes its pairs slow. */
  readonly slow: number | undefined;

  constructor(size: number, plan = planned, slow?: number) {
    this.size = size;
    this.plan = plan;
    this.slow = slow;
    this.results = Array.from({ length: size }, () => []);
    this.run = this.open();
  }

  open(): Run {
    return openRun({
      plan: (facts) => {
        this.facts.push(facts);
        return this.plan(facts);
      },
      withinMs,
    });
  }

  ask(rank: number, pod = podOf(rank), size = this.size): RoundReply {
    return this.run.ask(
      pod,
      { schema: 1, size, address: `10.0.0.${rank}:29400`, results: this.results[rank] ?? [] },
      this.now,
    );
  }

  answer(rank: number): RoundAnswer | 'hold' | 'refused' {
    const asked = this.ask(rank);
    return asked.kind === 'answer' ? asked.answer : asked.kind;
  }

  /** All ask, then all act, as if at once; true when one of them had something to do. */
  turn(ranks = this.all()): boolean {
    for (const rank of ranks) this.ask(rank);
    const answers = ranks.map((rank) => [rank, this.answer(rank)] as const);
    return answers.map(([rank, answer]) => this.do(rank, answer)).some(Boolean);
  }

  do(rank: number, answer: RoundAnswer | 'hold' | 'refused'): boolean {
    if (typeof answer === 'string' || (answer.kind !== 'round' && answer.kind !== 'idle')) return false;
    const { round } = answer;
    if (answer.kind === 'idle') this.results[rank]?.push({ round, status: 'skip' });
    else
      this.results[rank]?.push({
        round,
        peer: answer.peer.rank,
        status: 'ok',
        gbps: [rank, answer.peer.rank].includes(this.slow ?? -1) ? 20 : 90,
      });
    return true;
  }

  /** Acts on its answer; true when it had something to do. */
  act(rank: number): boolean {
    return this.do(rank, this.answer(rank));
  }

  /** Runs until no rank has anything left to do. */
  work(ranks = this.all()): void {
    while (this.turn(ranks));
  }

  all = (): number[] => Array.from({ length: this.size }, (_, rank) => rank);
}

describe('a run', () => {
  it.each([2, 3, 4, 16])('leads %i ranks through all rounds, with the same answer for both of a pair', (size) => {
    const job = new SimulatedJob(size);
    job.work();
    for (const rank of job.all()) {
      expect(job.answer(rank)).toEqual({ kind: 'done', because: '3 rounds' });
      expect(job.results[rank]).toHaveLength(rounds);
      for (const { round, peer } of job.results[rank] ?? [])
        if (peer !== undefined) expect(job.results[peer]?.[round]?.peer).toBe(rank);
    }
    expect(job.results.flat().filter(({ peer }) => peer === undefined)).toHaveLength(size % 2 === 0 ? 0 : rounds);
  });

  it('gives each of a pair the other, and the lead to the lower rank', () => {
    const job = new SimulatedJob(2);
    expect(job.ask(1)).toEqual({ kind: 'hold', until: withinMs, because: 'round 0 waits for rank 0' });
    expect(job.answer(0)).toEqual({
      kind: 'round',
      round: 0,
      peer: { rank: 1, node: 'gpu-1', address: '10.0.0.1:29400' },
      lead: true,
    });
    expect(job.answer(1)).toEqual({
      kind: 'round',
      round: 0,
      peer: { rank: 0, node: 'gpu-0', address: '10.0.0.0:29400' },
      lead: false,
    });
  });

  it('gives the same answer when asked again', () => {
    const job = new SimulatedJob(4);
    for (const rank of job.all()) job.ask(rank);
    for (const rank of job.all()) expect(job.ask(rank)).toEqual(job.ask(rank));
    expect(job.facts).toHaveLength(1);
  });

  it('plans from the reported results, in the order of ranks, with a seed of its pods', () => {
    const job = new SimulatedJob(4);
    job.work([3, 1, 0, 2]);
    expect(job.facts.map(({ round }) => round)).toEqual([0, 1, 2, 3]);
    expect(new Set(job.facts.map(({ seed }) => seed)).size).toBe(1);
    expect(job.facts[0]?.seed).toMatch(/^workload\/[0-9a-f]{64}$/);
    expect(job.facts[2]?.ranks.map(({ rank, results }) => [rank, results.length])).toEqual([
      [0, 2],
      [1, 2],
      [2, 2],
      [3, 2],
    ]);
  });

  it.each([
    ['before any of a round was answered', 0],
    ['when some were answered and others were not', 5],
    ['when all but one have tested', 15],
  ])('goes on in the same way under a new leader: %s', (_sentence, answered) => {
    const undisturbed = new SimulatedJob(16);
    undisturbed.work();
    const job = new SimulatedJob(16);
    job.turn();
    for (const rank of job.all()) job.ask(rank);
    for (const rank of job.all().slice(0, answered)) job.act(rank);
    job.run = job.open();
    // The partners of those who have tested have tested too; only answers on their way may be lost.
    job.work();
    const peersOf = ({ results }: SimulatedJob) => results.map((ofRank) => ofRank.map(({ peer }) => peer));
    for (const facts of job.facts)
      expect(undisturbed.facts.find(({ round }) => round === facts.round)?.seed).toBe(facts.seed);
    for (const [rank, peers] of peersOf(job).entries()) {
      expect(peers).toHaveLength(rounds);
      for (const [round, peer] of peers.entries())
        expect([peersOf(undisturbed)[rank]?.[round], undefined]).toContain(peer);
    }
    if (answered === 0) expect(peersOf(job)).toEqual(peersOf(undisturbed));
  });

  it.each([3, 4, 16])('gives %i ranks the same partners when every round has another leader', (size) => {
    const adaptive = (facts: RoundFacts) => planRound(facts, { rounds: 'adaptive', most: 6 });
    const undisturbed = new SimulatedJob(size, adaptive, 1);
    undisturbed.work();
    const job = new SimulatedJob(size, adaptive, 1);
    while (job.turn()) job.run = job.open();
    expect(job.results).toEqual(undisturbed.results);
    expect(job.results[1]?.length).toBeGreaterThan(1);
    for (const rank of job.all()) expect(job.answer(rank)).toMatchObject({ kind: 'done' });
  });

  it('waits for a missing rank, and then continues without it', () => {
    const job = new SimulatedJob(4);
    job.work([0, 1, 2]);
    expect(job.ask(0)).toEqual({ kind: 'hold', until: withinMs, because: 'round 0 waits for rank 3' });
    job.now = withinMs - 1;
    expect(job.answer(1)).toBe('hold');
    job.now = withinMs;
    job.work([0, 1, 2]);
    expect(job.answer(2)).toEqual({ kind: 'done', because: '3 rounds' });
    expect(job.results.map((ofRank) => ofRank.length)).toEqual([3, 3, 3, 0]);
  });

  it('waits as long after the last rank that came, and only once for the missing one', () => {
    const job = new SimulatedJob(4);
    job.ask(0);
    job.now = withinMs - 1;
    job.ask(1);
    expect(job.ask(0)).toMatchObject({ kind: 'hold', until: 2 * withinMs - 1 });
    job.now = 2 * withinMs;
    expect(job.answer(0)).toMatchObject({ kind: 'round', peer: { rank: 1 } });
    job.work([0, 1]);
    expect(job.answer(1)).toMatchObject({ kind: 'done' });
  });

  it('ends with the reason when no other rank comes', () => {
    const job = new SimulatedJob(4);
    job.ask(2);
    job.now = withinMs;
    expect(job.answer(2)).toEqual({
      kind: 'done',
      because: 'no other rank of 4 asked within 300 s: there is no rank to test with',
    });
  });

  it('continues without a rank that failed in a round, and does not pair its partner with it again', () => {
    const job = new SimulatedJob(4);
    for (const rank of job.all()) job.ask(rank);
    job.turn([0, 1, 2]);
    for (const rank of [0, 1, 2]) expect(job.answer(rank)).toBe('hold');
    job.now = withinMs;
    job.work([0, 1, 2]);
    expect(job.results.map((ofRank) => ofRank.length)).toEqual([3, 3, 3, 0]);
    expect(job.facts[1]?.ranks.map(({ rank }) => rank)).toEqual([0, 1, 2]);
  });

  it('lets a late rank skip the past rounds and take part in the others', () => {
    const job = new SimulatedJob(4);
    for (const rank of [0, 1, 2]) job.ask(rank);
    job.now = withinMs;
    for (const rank of [0, 1, 2]) job.act(rank);
    expect(job.answer(3)).toEqual({ kind: 'idle', round: 0 });
    job.act(3);
    job.ask(3);
    job.work();
    expect(job.facts.map(({ ranks }) => ranks.length)).toEqual([3, 4, 4, 4]);
    expect(job.results[3]).toHaveLength(rounds);
  });

  it('lets a restarted container catch up, and uses its newer results', () => {
    const job = new SimulatedJob(4);
    job.turn();
    job.turn();
    job.results[2] = [];
    expect(job.answer(2)).toEqual({ kind: 'idle', round: 0 });
    expect(job.answer(0)).toBe('hold');
    job.work();
    expect(job.results[2]?.map(({ status }) => status)).toEqual(['skip', 'skip', 'ok']);
    expect(job.facts.find(({ round }) => round === 2)?.ranks[2]?.results).toMatchObject([
      { status: 'skip' },
      { status: 'skip' },
    ]);
  });

  it.each([
    ['created later', '2026-11-21T07:00:05Z'],
    ['created in the same second', '2026-11-21T07:00:00Z'],
  ])('begins anew when a newer pod has a rank: %s', (_sentence, createdAt) => {
    const job = new SimulatedJob(2);
    job.work();
    const newer = podOf(1, { uid: 'pod-1-again', createdAt });
    job.results[1] = [];
    job.ask(1, newer);
    expect(job.answer(1)).toEqual({ kind: 'done', because: 'a newer pod has this rank' });
    // The other rank has all its results, and waits until the newer pod has caught up.
    expect(job.answer(0)).toBe('hold');
    for (const round of [0, 1, 2]) {
      expect(job.ask(1, newer)).toEqual({ kind: 'answer', answer: { kind: 'idle', round } });
      job.results[1].push({ round, status: 'skip' });
    }
    expect(job.ask(1, newer)).toMatchObject({ kind: 'answer', answer: { kind: 'done' } });
    expect(job.answer(0)).toMatchObject({ kind: 'done' });
  });

  it('does not take an older pod for a newer one', () => {
    const job = new SimulatedJob(2);
    const newer = podOf(1, { uid: 'again', createdAt: '2026-11-21T07:00:05Z' });
    job.ask(1, newer);
    expect(job.answer(1)).toMatchObject({ kind: 'done' });
    expect(job.answer(0)).toMatchObject({ kind: 'round' });
  });

  it.each<[string, (job: SimulatedJob) => RoundReply, string]>([
    [
      'another size than the others',
      (job) => job.ask(1, podOf(1), 6),
      'other ranks of this run say that there are 4, not 6',
    ],
    ['a rank beyond the size', (job) => job.ask(1, podOf(7)), 'rank 7 is not below the size 4'],
  ])('refuses %s', (_sentence, act, because) => {
    const job = new SimulatedJob(4);
    job.ask(0);
    expect(act(job)).toEqual({ kind: 'refused', because });
    expect(job.answer(1)).toBe('hold');
  });

  it('takes another size from a rank that is alone', () => {
    const job = new SimulatedJob(2);
    job.ask(0, podOf(0), 6);
    job.ask(0);
    expect(job.answer(1)).toMatchObject({ kind: 'round' });
  });

  it('forgets pods that are gone, and ends with the last', () => {
    const job = new SimulatedJob(2);
    job.ask(0);
    job.ask(1);
    expect(job.run.keep((uid) => uid === 'pod-0')).toBe(true);
    expect(job.answer(0)).toEqual({ kind: 'idle', round: 0 });
    expect(job.run.keep(() => false)).toBe(false);
  });
});
