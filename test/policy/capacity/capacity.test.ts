import { describe, expect, it } from '@jest/globals';
import type { CapacityRequest } from '../../../contract/wire/activities.ts';
import type { CapacityFacts, CapacityPlan } from '../../../contract/recovery/plan.ts';
import { decideCapacity } from '../../../policy/capacity/capacity.ts';
import { settings } from '../../support/builders.ts';

const facts = (more: Partial<CapacityFacts> = {}): CapacityFacts => ({
  needed: 8,
  fit: 6,
  fitWithStandby: 6,
  standbyNodes: [],
  because: '3 nodes: taint maintenance=true',
  sizes: { now: 8, least: 2 },
  ...more,
});
const short = 'capacity for 6 of 8 pods (3 nodes: taint maintenance=true)';

const decide = (
  plan: Partial<CapacityPlan>,
  more: Partial<CapacityFacts> = {},
  request: Partial<CapacityRequest> = {},
  given: object = {},
) =>
  decideCapacity(
    {
      facts: facts(more),
      plan: { choice: 'hold', least: 8, ...plan },
      severity: 'degrading',
      by: 'suspend',
      ...request,
    },
    settings(given),
  );

describe('capacity for all pods', () => {
  it.each(['hold', 'standby', 'shrink', 'ask', 'restart'] as const)(
    'lets it go on, whatever the choice: %s',
    (choice) => {
      expect(decide({ choice }, { fit: 8 })).toEqual({ kind: 'go', because: 'capacity for 8 pods' });
    },
  );
});

describe('without capacity', () => {
  it('it holds, and names what keeps pods off the nodes', () => {
    expect(decide({ choice: 'hold' })).toMatchObject({ kind: 'hold', because: short, lookAgainMs: 5000 });
  });

  it('it stops anyway where that is the choice, and says that the other pods stay pending', () => {
    expect(decide({ choice: 'restart' })).toEqual({
      kind: 'go',
      because: `${short}; the other pods will stay pending`,
    });
  });

  it('it asks for an approval, with the deadline and default of the settings', () => {
    const approval = { recovery: { approval: { within: '5m', otherwise: 'approve' } } };
    expect(decide({ choice: 'ask' }, {}, {}, approval)).toEqual({
      kind: 'ask',
      because: short,
      withinMs: 300_000,
      otherwise: 'approve',
    });
  });

  it('it does not ask twice', () => {
    expect(decide({ choice: 'ask' }, {}, { approved: true })).toMatchObject({ kind: 'go' });
  });
});

describe('standby nodes', () => {
  const enough = { fitWithStandby: 8, standbyNodes: ['s-0', 's-1'] };
  it('are taken when all pods fit with them', () => {
    expect(decide({ choice: 'standby' }, enough)).toEqual({
      kind: 'standby',
      nodes: ['s-0', 's-1'],
      because: `${short}, and for all with standby nodes s-0, s-1`,
    });
  });

  it('are left alone when they are too few', () => {
    expect(decide({ choice: 'standby' }, { fitWithStandby: 7, standbyNodes: ['s-0'] })).toMatchObject({
      kind: 'hold',
      because: `${short}, and for 7 with standby nodes`,
    });
  });

  it('are taken once', () => {
    expect(decide({ choice: 'standby' }, enough, { standbyTaken: true })).toMatchObject({
      kind: 'hold',
      because: `${short}, after standby nodes were taken`,
    });
  });

  it('are not taken with any other choice', () => {
    expect(decide({ choice: 'hold' }, enough).kind).toBe('hold');
  });
});

describe('a smaller job', () => {
  it.each<[sentence: string, plan: Partial<CapacityPlan>, more: Partial<CapacityFacts>, pods: number]>([
    ['is as large as there is capacity', { least: 4 }, {}, 6],
    ['has the largest allowed size that fits', { least: 2, allowedSizes: [8, 4, 2] }, {}, 4],
    ['may be as small as it says', { least: 6 }, {}, 6],
    ['is smaller, not the same, when its last pod does not fit', { least: 1 }, { fit: 7 }, 7],
  ])('%s', (_, plan, more, pods) => {
    expect(decide({ choice: 'shrink', ...plan }, more)).toMatchObject({ kind: 'shrink', pods });
  });

  it('says how many pods it continues with', () => {
    expect(decide({ choice: 'shrink', least: 4 })).toEqual({
      kind: 'shrink',
      pods: 6,
      because: `${short}; it continues with 6 pods instead of 8`,
    });
  });

  it.each<
    [
      sentence: string,
      plan: Partial<CapacityPlan>,
      more: Partial<CapacityFacts>,
      request: Partial<CapacityRequest>,
      because: string,
    ]
  >([
    ['is none below what the job needs', { least: 7 }, {}, {}, `${short}, and it needs at least 7`],
    [
      'is none below what its kind needs',
      { least: 1 },
      { sizes: { now: 8, least: 7 } },
      {},
      `${short}, and it needs at least 7`,
    ],
    [
      'is none when no allowed size fits',
      { least: 2, allowedSizes: [8, 7] },
      {},
      {},
      `${short}, and it needs at least 2, in sizes of 8, 7`,
    ],
    [
      'is none when what the job says of its sizes cannot be used',
      { least: 2, allowedSizes: [] },
      {},
      {},
      `${short}, and the sizes that the job sets allow no smaller one`,
    ],
    [
      'is none when it is not suspended',
      { least: 1 },
      {},
      { by: 'delete-collection' },
      `${short}, and only a job that is stopped by suspend can be shrunk`,
    ],
    [
      'is none when single pods are replaced',
      { least: 1 },
      {},
      { by: 'pods' },
      `${short}, and only the whole job can be shrunk`,
    ],
  ])('%s: it holds', (_, plan, more, request, because) => {
    expect(decide({ choice: 'shrink', ...plan }, more, request)).toMatchObject({
      kind: 'hold',
      because,
      lookAgainMs: 5000,
    });
  });

  it('is not possible where the kind has one size', () => {
    const { sizes: _, ...without } = facts();
    const request = { facts: without, plan: { choice: 'shrink', least: 1 }, severity: 'dead', by: 'suspend' } as const;
    expect(decideCapacity(request, settings())).toMatchObject({
      kind: 'hold',
      because: `${short}, and this job cannot be shrunk`,
    });
  });
});
