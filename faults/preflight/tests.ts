/** Converts the rounds of a report to tests of pairs. */

import { addressPattern, type PairTest, preflightLimits } from '../../contract/preflight/preflight.ts';
import { numberOf, tooLong, wholeNumberOf } from './number.ts';
import { foreignText } from '../foreign-text.ts';
import { mostGbps, type ReportProfile } from './profile.ts';
import { Unusable } from './unusable.ts';

/** Values of the report that are needed to read its rounds. */
export interface TestBasis {
  readonly profile: ReportProfile;
  readonly size: number;
  /** `node_ip`; empty when there is none. */
  readonly address: string;
  /** The report's own or the profile's; it may be NaN or infinite. */
  readonly threshold: number;
}

/**
 * Bus bandwidth of an all-reduce, GiB/s, from elements of the tensor, bytes of each, duration in ms, and participating ranks.
 * Source: nccl-tests, whose ring moves 2 (n - 1) / n of the data over every link.
 */
export const busbw = (shape: number, bytes: number, ms: number, ranks: number): number =>
  (((shape * bytes) / 2 ** 30 / (ms / 1000)) * 2 * (ranks - 1)) / ranks;

/** Tests of the rounds that count, in the order of the report. A value that is not a list counts as empty. */
export function readTests(batches: unknown, basis: TestBasis): readonly PairTest[] {
  if (!Array.isArray(batches)) return [];
  const tests = batches.flatMap((batch: unknown) => testOf(batch, basis) ?? []);
  const rounds = new Set<number>();
  for (const { round } of tests) {
    if (rounds.has(round)) throw new Unusable('duplicate_batch_idx', `batch_idx ${round} occurs twice`);
    rounds.add(round);
  }
  return tests;
}

type Batch = Readonly<Record<string, unknown>>;

/** Undefined for a round that does not count. */
function testOf(value: unknown, basis: TestBasis): PairTest | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Unusable('batch', 'a batch is not an object');
  const batch: Batch = { ...value };
  const round = roundOf(batch, basis);
  if (round === undefined) return undefined;
  const said = typeof batch['status'] === 'string' ? batch['status'].toLowerCase() : '';
  const skipped = said === 'skip' && basis.profile.skip !== 'measured';
  const ends = skipped ? endsOfSkipped(batch, basis) : endsOf(batch, basis);
  const result = skipped ? { status: 'skip' as const } : resultOf(batch, said, basis);
  return {
    round,
    ...(ends.self !== basis.address && ends.self !== undefined && { self: ends.self }),
    ...(ends.peer !== undefined && { peer: ends.peer }),
    ...result,
    ...(basis.profile.bounded && becauseOf(batch)),
  };
}

function roundOf(batch: Batch, { profile: { rounds }, size }: TestBasis): number | undefined {
  const round = wholeNumberOf(batch['batch_idx']);
  if (round === undefined)
    throw new Unusable('batch_idx', `batch_idx is not a whole number${tooLong(batch['batch_idx'])}`);
  if (round < 0) throw new Unusable('batch_idx', `batch_idx ${round} is negative`);
  const count = rounds.everyPair ? Math.min(size - 1, rounds.most) : rounds.most;
  if (round < count) return round;
  if (rounds.later === 'refused') throw new Unusable('batch_idx', `batch_idx ${round} is above ${count - 1}`);
  return undefined;
}

interface Ends {
  readonly self?: string;
  readonly peer?: string;
}

function endsOf(batch: Batch, { address, profile }: TestBasis): Ends {
  const pair = pairOf(batch['pair'], profile);
  if (pair === undefined) throw new Unusable('pair', 'pair is not a list of two addresses');
  const self = Object.hasOwn(batch, 'self_ip') ? batch['self_ip'] : address;
  if (typeof self !== 'string' || !pair.includes(self))
    throw new Unusable('self_ip', 'pair does not contain the address of the reporter');
  return sides(pair, self);
}

/** The pair where it is given, whichever end reports it; otherwise the reporter alone. */
function endsOfSkipped(batch: Batch, { address, profile }: TestBasis): Ends {
  const pair = pairOf(batch['pair'], profile);
  const self = batch['self_ip'];
  if (pair !== undefined)
    return sides(pair, pair.find((end) => end === self) ?? pair.find((end) => end === address) ?? pair[0]);
  if (typeof self === 'string' && self !== '' && fits(self, profile)) return { self };
  if (profile.skip === 'neutral') return {};
  throw new Unusable('self_ip', 'a skipped batch names neither a pair nor the reporter');
}

type AddressPair = readonly [string, string];

const sides = ([first, second]: AddressPair, self: string): Ends => ({ self, peer: first === self ? second : first });

function pairOf(value: unknown, profile: ReportProfile): AddressPair | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [first, second]: readonly unknown[] = value;
  const usable = (end: unknown): end is string => typeof end === 'string' && end !== '' && fits(end, profile);
  return usable(first) && usable(second) ? [first, second] : undefined;
}

const fits = (address: string, { bounded }: ReportProfile): boolean =>
  !bounded || (address.length <= preflightLimits.address && addressPattern.test(address));

/** A measurement is required, except for `fail` and without a threshold. */
function resultOf(batch: Batch, said: string, { threshold, profile }: TestBasis): Pick<PairTest, 'status' | 'gbps'> {
  const measured = measurementOf(batch);
  if (said === 'fail') return { status: 'fail', ...bandwidth(measured, profile) };
  if (threshold === 0) return { status: 'ok', ...bandwidth(measured, profile) };
  if (measured === undefined) throw new Unusable('performance', whyUnmeasured(batch));
  if (impossible(measured)) return { status: 'fail' };
  const result = { status: 'ok' as const, ...bandwidth(measured, profile) };
  if (profile.bounded && !('gbps' in result)) throw new Unusable('performance', 'the bandwidth is impossible');
  return result;
}

function whyUnmeasured(batch: Batch): string {
  const name = ['allreduce_ms', 'allreduce_shape', 'dtype_bytes', 'world_size'].find(
    (each) => tooLong(batch[each]) !== '',
  );
  if (name !== undefined) return `${name} is not a number${tooLong(batch[name])}`;
  return 'allreduce_ms, allreduce_shape, dtype_bytes and world_size are not all numbers';
}

interface Measurement {
  readonly ms: number;
  readonly shape: number;
  readonly bytes: number;
  readonly ranks: number;
}

function measurementOf(batch: Batch): Measurement | undefined {
  const ms = numberOf(batch['allreduce_ms']);
  const [shape, bytes, ranks] = ['allreduce_shape', 'dtype_bytes', 'world_size'].map((name) =>
    wholeNumberOf(batch[name]),
  );
  return ms === undefined || shape === undefined || bytes === undefined || ranks === undefined
    ? undefined
    : { ms, shape, bytes, ranks };
}

const impossible = ({ ms, shape, bytes, ranks }: Measurement): boolean =>
  ms <= 0 || shape <= 0 || bytes <= 0 || ranks <= 1;

/** Left out where it is not finite, as it is below no threshold then; in bounded profiles also where it is implausible. */
function bandwidth(
  measured: Measurement | undefined,
  { bounded }: ReportProfile,
): { readonly gbps: number } | undefined {
  if (measured === undefined || impossible(measured)) return undefined;
  const gbps = busbw(measured.shape, measured.bytes, measured.ms, measured.ranks);
  return Number.isFinite(gbps) && (!bounded || (gbps > 0 && gbps <= mostGbps)) ? { gbps } : undefined;
}

function becauseOf({ reason, rc }: Batch): Pick<PairTest, 'because'> {
  const parts = [
    typeof reason === 'string' ? reason : '',
    typeof rc === 'number' && rc !== 0 ? `exit code ${rc}` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? {} : { because: foreignText(parts.join(', '), preflightLimits.because) };
}
