import { describe, expect, it } from '@jest/globals';
import { type CollectingProfile, collectingProfiles } from '../../../policy/preflight/collecting.ts';
import { replayVector, type StepOutcome } from '../../../policy/preflight/replay.ts';
import { readVector, type Vector, type VectorStep } from '../../../policy/preflight/vector.ts';
import { expectedOf, foundIn, vectors } from '../../support/preflight-vectors.ts';

const vectorOf = (value: unknown): Vector => {
  const read = readVector(value);
  if (read.kind === 'problem') throw new Error(read.because);
  return read.vector;
};
const replay = (
  value: unknown,
  profile: CollectingProfile,
  rule: 'strict' | 'statistical' = 'strict',
): readonly StepOutcome[] => replayVector(vectorOf(value), { rule, profile }).steps;

/** Rank 0 or 1 of a pair that failed. */
const report = (rank: number, more = {}) => ({
  workload_size: 2,
  rank,
  node_name: `n${rank}`,
  node_ip: `10.0.0.${rank}`,
  batches: [{ batch_idx: 0, pair: ['10.0.0.0', '10.0.0.1'], status: 'fail' }],
  ...more,
});
const passed = {
  batches: [
    {
      batch_idx: 0,
      pair: ['10.0.0.0', '10.0.0.1'],
      status: 'ok',
      allreduce_ms: 20,
      world_size: 16,
      allreduce_shape: 268_435_456,
      dtype_bytes: 4,
    },
  ],
};
const step = (rank: number, more: VectorStep = {}, fields = {}): VectorStep => ({
  report: report(rank, fields),
  ...more,
});
const set = (timeoutSeconds: number, ...reports: VectorStep[]): Vector => ({ timeoutSeconds, reports });
const said = (steps: readonly StepOutcome[]): string[] => steps.map(({ outcome }) => outcome);

describe('a vector of the reference project', () => {
  it('is one of 92', () => expect(vectors).toHaveLength(92));

  describe.each(collectingProfiles)('in profile %s', (profile) => {
    it.each(vectors)('$name', (vector) =>
      expect(foundIn(vector, replay(vector, profile))).toEqual(expectedOf(vector, profile)),
    );
  });
});

describe('collecting', () => {
  it.each([
    ['seed', 1800],
    ['v008', 1800],
    ['v012', 600],
    ['recommended', 1800],
  ] as const)('in profile %s waits %d s where no time is given, or none that can be', (profile, seconds) => {
    for (const timeoutSeconds of [undefined, null, 0, -5]) {
      const until = (at: number) => replay({ timeoutSeconds, reports: [step(0), { at, sweep: true }] }, profile).at(-1);
      expect(until(seconds - 0.001)).toEqual({ outcome: 'swept', expired: [] });
      expect(until(seconds)).toMatchObject({ expired: [{ received: 1, expected: 2 }] });
    }
  });

  it('counts tenths of seconds exactly', () => {
    for (const profile of collectingProfiles)
      expect(replay(set(0.3, step(0, { at: 0.1 }), { at: 0.4, sweep: true }), profile).at(-1)).toMatchObject({
        expired: [{}],
      });
  });

  it('is not prolonged by a report that is refused', () => {
    const steps = [step(0), step(1, { at: 9 }, { node_name: '' }), { at: 10, sweep: true }];
    for (const profile of collectingProfiles)
      expect(replay(set(10, ...steps), profile).at(-1)).toMatchObject({ expired: [{ reportedNodes: ['n0'] }] });
  });

  it('takes the later of two reports of one node, whatever their ranks', () => {
    const steps = [step(0), step(0, {}, { rank: 1 }), step(0, {}, passed), step(1, {}, passed)];
    for (const profile of collectingProfiles)
      expect(replay(set(10, ...steps), profile).at(-1)).toEqual({ outcome: 'ready', abnormalNodes: [] });
  });

  it('takes a report that comes again for what it is, prolonging the time', () => {
    const steps = [step(0), step(0, { at: 9 }), { at: 12, sweep: true }, step(1)];
    for (const profile of collectingProfiles)
      expect(said(replay(set(20, ...steps), profile))).toEqual(['waiting', 'waiting', 'swept', 'ready']);
  });

  it('drops the report that finds its set expired, and the next starts again; only the recommended one keeps it', () => {
    const steps = set(10, step(0), step(1, { at: 10 }), step(0, { at: 11 }));
    for (const profile of ['seed', 'v008', 'v012'] as const)
      expect(said(replay(steps, profile))).toEqual(['waiting', 'timeout', 'waiting']);
    expect(said(replay(steps, 'recommended'))).toEqual(['waiting', 'waiting', 'ready']);
  });

  it('ends a stale set before it looks at sizes', () => {
    const steps = set(10, step(0), step(1, { at: 30 }, { workload_size: 4 }));
    for (const profile of ['seed', 'v012'] as const)
      expect(replay(steps, profile).at(-1)).toMatchObject({ outcome: 'timeout', expired: [{ expected: 2 }] });
  });

  it('keeps the old set when a report of another size is refused', () => {
    const steps = set(10, step(0), step(1, {}, { workload_size: 4 }), step(1));
    for (const profile of ['seed', 'v008'] as const)
      expect(said(replay(steps, profile))).toEqual(['waiting', 'error', 'ready']);
    for (const profile of ['v012', 'recommended'] as const)
      expect(said(replay(steps, profile))).toEqual(['waiting', 'waiting', 'waiting']);
  });

  it('combines what was observed exactly as far apart as the time allows', () => {
    const apart = (observedAt: number) => set(10, step(0, { observedAt: 0 }), step(1, { at: 1, observedAt }));
    for (const profile of ['v012', 'recommended'] as const) {
      expect(said(replay(apart(10), profile))).toEqual(['waiting', 'ready']);
      expect(said(replay(apart(-10), profile))).toEqual(['waiting', 'ready']);
      expect(said(replay(apart(10.001), profile))).toEqual(['waiting', 'timeout']);
    }
    for (const profile of ['seed', 'v008'] as const)
      expect(said(replay(apart(100), profile))).toEqual(['waiting', 'ready']);
  });

  it('sweeps every stale set, in order', () => {
    const steps = set(
      10,
      step(0, { workload: 'b' }),
      step(0, { workload: 'a', at: 1 }),
      step(0, { namespace: 'aa', at: 5 }),
      { at: 12, sweep: true },
    );
    for (const profile of collectingProfiles) {
      expect(replay(steps, profile).at(-1)).toMatchObject({ expired: [{ workload: 'a' }, { workload: 'b' }] });
    }
  });

  it('refuses a report of a workload without a name', () => {
    for (const profile of collectingProfiles) {
      expect(replay(set(10, step(0, { workload: '' })), profile)).toEqual([
        { outcome: 'error', errorField: 'workload_name' },
      ]);
    }
  });
});

describe('under the statistical rule', () => {
  it.each(collectingProfiles)('sets come and go as they do under the strict one, in profile %s', (profile) => {
    for (const vector of vectors) {
      const [strict, statistical] = [replay(vector, profile), replay(vector, profile, 'statistical')];
      expect({ name: vector.name, said: said(statistical) }).toEqual({ name: vector.name, said: said(strict) });
    }
  });

  it('every step with evidence says what it makes of it', () => {
    const steps = replay(
      set(10, step(0, {}, { gpu_check: 2 }), step(1, {}, { node_name: '' }), { at: 20, sweep: true }, { sweep: true }),
      'recommended',
      'statistical',
    );
    const found = { abnormalNodes: ['n0'], undetermined: expect.any(Array), confidence: expect.any(Number) };
    expect(steps).toEqual([
      { outcome: 'waiting', ...found },
      { outcome: 'error', errorField: 'node_name' },
      {
        outcome: 'swept',
        expired: [{ namespace: 'train', workload: 'job-a', received: 1, expected: 2, reportedNodes: ['n0'] }],
        ...found,
      },
      { outcome: 'swept', expired: [] },
    ]);
  });
});

describe('a vector that cannot be replayed', () => {
  it.each([
    ['is no object', [], 'reports is not a list of steps'],
    ['has no steps', { reports: {} }, 'reports is not a list of steps'],
    ['has a time-out that is no number', { timeoutSeconds: '10', reports: [] }, 'timeoutSeconds is not a number'],
    ['has a step that is no object', { reports: [step(0), 5] }, 'step 2: it is not an object'],
    ['has a step of nothing', { reports: [{ at: 5 }] }, 'step 1: it needs one of report, reportText and sweep'],
    ['has a time that is no number', { reports: [step(0), { at: 'noon', sweep: true }] }, 'step 2: at is not a number'],
  ])('%s', (_what, value, because) => expect(readVector(value)).toEqual({ kind: 'problem', because }));
});
