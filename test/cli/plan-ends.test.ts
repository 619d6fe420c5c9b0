import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { planOf } from '../../cli/plan/plan.ts';
import {
  capacityChoices,
  checkpointStrategies,
  hangResponses,
  recoveryModes,
  restartLevels,
} from '../../contract/job/job-overrides.ts';
import { stopMethods } from '../../contract/job/jobs.ts';
import { jobView, nodeView, pods, settings, tainted } from '../support/builders.ts';
import { at, hypothetical, planFacts } from './plan-facts.ts';

const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const faults = [
  hypothetical('xid/79', { node: 'gpu-3' }),
  hypothetical('xid/64', { node: 'gpu-3' }),
  hypothetical('xid/64', { node: 'gpu-1' }),
  hypothetical('node/not-ready', { node: 'gpu-3' }),
  hypothetical('preflight/slow-node', { node: 'gpu-2' }),
  hypothetical('pod/exit', { pod: 'llm-worker-1' }),
  hypothetical('progress/hang'),
  hypothetical('operator/recover'),
];
const capacity = fc.record({ fit: fc.nat(5), more: fc.nat(3), least: fc.nat(5) }).map(({ fit, more, least }) => ({
  needed: 4,
  fit,
  fitWithStandby: fit + more,
  standbyNodes: ['gpu-7'],
  because: '2 nodes: cordoned',
  sizes: { now: 4, least },
}));
const job = fc.record(
  {
    canStopBy: fc.subarray([...stopMethods], { minLength: 1 }),
    gpus: oneOf(0, 8, 64),
    progress: oneOf(
      { step: 0, at },
      { step: 1200, checkpointStep: 1100, at, pace: { msPerStep: 1000, stepsPerCheckpoint: 150 } },
      { step: 7, at: '2026-11-20T07:00:00Z' },
    ),
    overrides: fc.record(
      {
        mode: oneOf(...recoveryModes),
        checkpoint: oneOf(...checkpointStrategies),
        capacity: oneOf(...capacityChoices),
        minReplicas: fc.integer({ min: 1, max: 5 }),
        level: oneOf(...restartLevels),
        hang: oneOf(...hangResponses),
        ignored: fc.constant([]),
      },
      { requiredKeys: ['ignored'] },
    ),
  },
  { requiredKeys: [] },
);
const running = fc.record(
  {
    fresh: fc.subarray(faults),
    handled: fc.constant([]),
    usage: fc.constant([]),
    open: fc.nat(4).map((stops) => ({ incident: 'r', stops, attempts: 3, asked: stops === 1 })),
  },
  { requiredKeys: ['fresh', 'handled', 'usage'] },
);
const paused = running.map((one) => ({ ...one, paused: { by: 'bob', reason: 'demo' } }));
const known = fc.oneof({ weight: 9, arbitrary: running }, { weight: 1, arbitrary: paused });

describe('a plan', () => {
  it('comes to an end with a reason, whatever the facts, and names what it assumes where it stops pods', async () => {
    const facts = fc.record(
      { job, known, hypothetical: oneOf(...faults), capacity, capacityOfAll: capacity, isTainted: fc.boolean() },
      { requiredKeys: ['job', 'known', 'isTainted'] },
    );
    const seen = { stops: 0, holds: 0, nothing: 0 };
    const property = fc.asyncProperty(
      facts,
      oneOf('act', 'observe'),
      async ({ job: view, isTainted, ...more }, mode) => {
        const nodes = [isTainted ? tainted() : nodeView()];
        const given = planFacts({ ...more, attempt: { job: jobView(view), pods, nodes, undecided: [] } });
        const how = settings({ mode, recovery: { approval: { dead: 8, degrading: 8, slow: 8 } } });
        const { does, because, assumed, steps } = await planOf(given, how);
        seen[does] += 1;
        expect(because).not.toBe('');
        const stops = steps.filter(({ step, otherwise }) => step === 'stop' && !otherwise);
        expect(stops).toHaveLength(does === 'stops' ? 1 : 0);
        expect(assumed.some((each) => each.startsWith('the stop succeeds'))).toBe(
          steps.some(({ step }) => step === 'stop'),
        );
      },
    );
    await fc.assert(property, { numRuns: 1000 });
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(30);
  });
});
