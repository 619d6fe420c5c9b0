import { KcoverError } from '../../contract/errors.ts';
import { preflightLimits } from '../../contract/preflight/preflight.ts';
import type { PlannedRank } from '../../contract/preflight/rounds.ts';
import { planRound } from '../../policy/preflight/plan.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { table } from '../program/output.ts';

export const preflightPlan: CommandEntry = {
  summary: 'Print which ranks would test each other: rounds for all ranks, fixed before the first result.',
  arguments: [],
  options: [
    { flags: '--nodes <number>', describe: `Ranks, 2 to ${preflightLimits.size}; they count from 0`, required: true },
    {
      flags: '--rounds <number>',
      describe: `Most rounds, 1 to ${preflightLimits.rounds}; n ranks have at most n - 1`,
      byDefault: '5',
    },
    { flags: '--seed <text>', describe: 'Seed of the shuffle of the ranks', byDefault: '0' },
    sharedOptions.output,
  ],
  examples: [
    'kcover preflight plan --nodes 16 --rounds 5',
    'kcover preflight plan --nodes 64 --rounds 6 --seed run-2 --output json',
  ],
  exits: [],
  run(typed) {
    const size = wholeNumber('--nodes', typed.value('nodes'), { least: 2, most: preflightLimits.size });
    const most = wholeNumber('--rounds', typed.value('rounds'), { least: 1, most: preflightLimits.rounds });
    const rounds = planned(size, most, typed.value('seed'));
    return Promise.resolve({
      data: { nodes: size, seed: typed.value('seed'), rounds },
      text: table(
        ['round', 'pairs', 'idle'],
        rounds.map(({ round, pairs, idle }) => [
          String(round),
          pairs.map((pair) => pair.join('-')).join(' '),
          idle.join(' '),
        ]),
      ),
    });
  },
};

interface Round {
  readonly round: number;
  readonly pairs: readonly (readonly [number, number])[];
  readonly idle: readonly number[];
}

/** The rounds that are planned when no pair is slow. */
function planned(size: number, most: number, seed: string): readonly Round[] {
  let ranks: readonly PlannedRank[] = Array.from({ length: size }, (_, rank) => ({
    rank,
    node: `rank-${rank}`,
    results: [],
  }));
  const rounds: Round[] = [];
  for (let round = 0; round < most; round++) {
    const plan = planRound({ size, ranks, round, seed }, { rounds: 'fixed', most });
    if (plan.kind === 'done') break;
    rounds.push({ round, pairs: plan.pairs, idle: plan.idle });
    const peers = new Map(plan.pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));
    ranks = ranks.map((rank) => ({ ...rank, results: [...rank.results, resultOf(round, peers.get(rank.rank))] }));
  }
  return rounds;
}

const resultOf = (round: number, peer: number | undefined): PlannedRank['results'][number] =>
  peer === undefined ? { round, status: 'skip' } : { round, peer, status: 'ok' };

function wholeNumber(
  option: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= most) return number;
  throw new KcoverError('usage', `${option} ${text} is not a whole number from ${least} to ${most}`, {
    remedy: `${option} ${least}`,
  });
}
