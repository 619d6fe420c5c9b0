import { describe, expect, it } from '@jest/globals';
import type { Blame, Fault } from '../../../contract/faults/faults.ts';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import type { BudgetAttribution, IncidentFacts, BudgetEntry } from '../../../contract/job/training-job.ts';
import { decideIncident } from '../../../policy/incident/incident.ts';
import { firstState, type JobState } from '../../../workflows/job/state.ts';
import { job, kernelFault, podFault, settings } from '../../support/builders.ts';

const minute = 60_000;
const now = Date.parse('2026-11-21T07:09:04Z');
const recovery = (minutesAgo: number, attribution: BudgetAttribution = {}): BudgetEntry => ({
  incident: `i${minutesAgo}`,
  startedAt: now - minutesAgo * minute,
  endedAt: now - minutesAgo * minute + 1000,
  ...attribution,
});
/** This many recoveries, spread over an hour that ended 15 minutes ago. */
const many = (count: number, attribution: BudgetAttribution = {}): BudgetEntry[] =>
  Array.from({ length: count }, (_, index) => recovery(59 - (index * 44) / count, attribution));

const faultOf = {
  hardware: kernelFault(),
  platform: podFault({ code: 'pod/evicted' }),
  user: podFault(),
  unknown: podFault({ code: 'pod/cannot-run' }),
} as const satisfies Record<Blame, Fault>;

const decide = (blame: Blame, usage: readonly BudgetEntry[], more: Partial<IncidentFacts> = {}, given: object = {}) => {
  const facts: IncidentFacts = {
    job,
    faults: [faultOf[blame]],
    usage,
    optedInAt: '2026-11-21T06:00:00Z',
    since: now - minute,
    now,
    ...more,
  };
  return decideIncident(facts, settings({ recovery: { budget: given } }));
};

describe('a budget category for each blame', () => {
  it.each<[Blame, number]>([
    ['hardware', 20],
    ['platform', 20],
    ['user', 5],
    ['unknown', 5],
  ])('lets faults of %s recover %i times in an hour', (blame, limit) => {
    expect(decide(blame, many(limit - 1, { blame })).kind).toBe('open');
    expect(decide(blame, many(limit, { blame }))).toMatchObject({ kind: 'refuse', until: now + minute });
  });

  it('keeps recoveries for infrastructure and for user code in separate categories', () => {
    const infrastructure = [...many(20, { blame: 'hardware' }), ...many(20, { blame: 'platform' })];
    expect(decide('user', infrastructure).kind).toBe('open');
    expect(decide('hardware', many(5, { blame: 'user' })).kind).toBe('open');
  });

  it('does not back off after a recovery of another category', () => {
    expect(decide('user', [recovery(0.1, { blame: 'hardware' })]).kind).toBe('open');
    expect(decide('hardware', [recovery(0.1, { blame: 'hardware' })]).kind).toBe('wait');
  });

  it('names the used recoveries of each category in a refusal', () => {
    const usage = [...many(5, { blame: 'user' }), ...many(2, { blame: 'hardware' })];
    expect(decide('user', usage)).toMatchObject({
      kind: 'refuse',
      because: expect.stringContaining(
        '5 recoveries in the last 1h, and 5 are allowed for user code; used: hardware 2 of 20, user 5 of 5',
      ),
    });
  });

  it('does not count recoveries that a person requested', () => {
    expect(decide('user', many(5, { asked: true })).kind).toBe('open');
    expect(decide('user', [], { askedBy: { by: 'ada', reason: 'hung' } })).toMatchObject({
      kind: 'open',
      attribution: { asked: true },
    });
  });

  it.each([
    ['`recoveries`, as it always did', { recoveries: 2 }],
    ['a limit of its own', { recoveries: 50, user: 2 }],
  ])('takes the limit of user code from %s', (_, given) => {
    expect(decide('user', many(1, { blame: 'user' }), {}, given).kind).toBe('open');
    expect(decide('user', many(2, { blame: 'user' }), {}, given).kind).toBe('refuse');
  });

  it('attributes a recovery to the blame of its faults, with the step that training had reached', () => {
    const progress = { step: 1200, checkpointStep: 1100, at: '2026-11-21T07:09:00Z' };
    expect(decide('user', [], { progress })).toMatchObject({
      kind: 'open',
      attribution: { blame: 'user', step: 1200, checkpointStep: 1100 },
    });
    expect(decide('hardware', [])).toMatchObject({ attribution: { blame: 'hardware' } });
  });

  it('attributes a pod that exits beside a broken node to the hardware, also when the category of the user is exhausted', () => {
    const usage = many(5, { blame: 'user' });
    const late = { faults: [podFault(), kernelFault({ quarantine: { state: 'quarantined', because: 'xid/79' } })] };
    expect(decide('user', usage, late)).toMatchObject({ kind: 'open', attribution: { blame: 'hardware' } });
    // The blame is decided only after the correlation window.
    expect(decide('user', usage, { since: now }).kind).toBe('wait');
  });
});

describe('a recovery of unrecorded blame', () => {
  it.each<Blame>(['hardware', 'platform', 'user', 'unknown'])(
    'counts against %s, and in all no more than the plain limit allows',
    (blame) => {
      expect(decide(blame, many(4)).kind).toBe('open');
      expect(decide(blame, many(5))).toMatchObject({
        kind: 'refuse',
        because: expect.stringContaining('5 of unknown cause'),
      });
    },
  );

  it('comes from continue-as-new state without blame', () => {
    const continued: JobState = {
      ...firstState(now),
      usage: [50, 40, 30, 20, 15].map((ago) => ({ incident: `i${ago}`, startedAt: now - ago * minute })),
    };
    expect(decide('user', continued.usage)).toMatchObject({ kind: 'refuse', until: now + 10 * minute });
  });

  it('does not exhaust a category that has recoveries left', () => {
    expect(decide('user', [...many(2), ...many(2, { blame: 'user' })]).kind).toBe('open');
    expect(decide('user', [...many(2), ...many(3, { blame: 'user' })]).kind).toBe('refuse');
  });
});

describe('a crash loop', () => {
  const at = '2026-11-21T07:09:00Z';
  const crashed = (...given: readonly (readonly [number, BudgetAttribution])[]) =>
    given.map(([hoursAgo, attribution]) => recovery(hoursAgo * 60, { blame: 'user', ...attribution }));
  const stuck = (step: number) =>
    crashed([30, { checkpointStep: step }], [20, { checkpointStep: step }], [10, { checkpointStep: step }]);
  const judge = (usage: readonly BudgetEntry[], progress?: JobProgress, blame: Blame = 'user') =>
    decide(blame, usage, progress ? { progress } : {});

  it('of three recoveries without a newer checkpoint waits for a person, however long they took', () => {
    expect(judge(stuck(1100), { step: 1190, checkpointStep: 1100, at })).toMatchObject({
      kind: 'refuse',
      because: expect.stringContaining(
        'crash loop: 3 recoveries in a row for user code and no checkpoint beyond step 1100',
      ),
      until: now + 14 * 60 * minute,
      remedy: expect.stringContaining('kcover recover'),
    });
  });

  it.each<[string, readonly BudgetEntry[], JobProgress | undefined]>([
    ['of two', stuck(1100).slice(1), { step: 1190, checkpointStep: 1100, at }],
    ['that has saved more since', stuck(1100), { step: 1290, checkpointStep: 1200, at }],
    [
      'that saved more in between',
      crashed([30, { checkpointStep: 1000 }], [20, { checkpointStep: 1100 }], [10, { checkpointStep: 1100 }]),
      { step: 1190, checkpointStep: 1100, at },
    ],
    [
      'that a person restarted in between',
      [...stuck(1100), recovery(60, { asked: true, checkpointStep: 1100 })],
      { step: 1190, checkpointStep: 1100, at },
    ],
    ['of a job that tells of no progress', stuck(1100), undefined],
    [
      'whose recoveries have no checkpoint',
      crashed([3, {}], [2.5, {}], [2, {}]),
      { step: 1190, checkpointStep: 1100, at },
    ],
  ])('is none %s', (_, usage, progress) => {
    expect(judge(usage, progress).kind).toBe('open');
  });

  it('does not include crashes that are weeks apart', () => {
    const usage = crashed(
      [24 * 40, { checkpointStep: 1100 }],
      [24 * 20, { checkpointStep: 1100 }],
      [24, { checkpointStep: 1100 }],
    );
    expect(judge(usage, { step: 90_000, checkpointStep: 1100, at }).kind).toBe('open');
  });

  it('does not block a recovery from a hardware fault', () => {
    expect(judge(stuck(1100), { step: 1190, checkpointStep: 1100, at }, 'hardware').kind).toBe('open');
  });

  it('is not interrupted by a hardware fault in between', () => {
    expect(
      judge([...stuck(1100), recovery(60, { blame: 'hardware', checkpointStep: 1100 })], {
        step: 1190,
        checkpointStep: 1100,
        at,
      }).kind,
    ).toBe('refuse');
  });

  it('of a job without checkpoints is detected by its steps', () => {
    const usage = crashed([3, { step: 500 }], [2.5, { step: 500 }], [2, { step: 500 }]);
    expect(judge(usage, { step: 500, at })).toMatchObject({
      kind: 'refuse',
      because: expect.stringContaining('no step beyond 500'),
    });
    expect(judge(usage, { step: 501, at }).kind).toBe('open');
  });

  it('is refused until the same time whenever it is decided within a day, so that it is reported once', () => {
    const progress = { step: 1190, checkpointStep: 1100, at };
    const until = (later: number) => decide('user', stuck(1100), { progress, now: now + later });
    expect(until(minute)).toMatchObject({ until: now + 14 * 60 * minute });
    expect(until(15 * 60 * minute)).toMatchObject({ kind: 'refuse', until: now + 38 * 60 * minute });
  });
});

describe('the recoveries in the life of a job', () => {
  const old = (count: number) =>
    Array.from({ length: count }, (_, index) => recovery((count - index) * 3000, { blame: 'hardware' }));

  it('are limited where the settings say so, however long ago they were', () => {
    expect(decide('platform', old(30)).kind).toBe('open');
    expect(decide('platform', old(9), {}, { total: 10 }).kind).toBe('open');
    expect(decide('platform', old(10), {}, { total: 10 })).toMatchObject({
      kind: 'refuse',
      because: expect.stringMatching(/^10 recoveries in the life of the job, and 10 are allowed/),
    });
  });

  it('do not count those that a person requested', () => {
    expect(decide('platform', [...old(9), recovery(100, { asked: true })], {}, { total: 10 }).kind).toBe('open');
  });

  it('are refused again a day later, so that people are reminded', () => {
    const answer = decide('platform', old(10), {}, { total: 10 });
    expect(answer.kind === 'refuse' && answer.until - now).toBeLessThanOrEqual(24 * 60 * minute);
  });
});
