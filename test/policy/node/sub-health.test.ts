/** Each strategy for sub-health that docs/judgement.md names, as settings. */

import { describe, expect, it } from '@jest/globals';
import type { CapacityFacts } from '../../../contract/recovery/plan.ts';
import type { RecoveryFacts } from '../../../contract/recovery/recovery.ts';
import { decideCapacity } from '../../../policy/capacity/capacity.ts';
import { decideNode } from '../../../policy/node/node.ts';
import { planStop } from '../../../policy/recovery/plan.ts';
import { jobView, kernelFault, nodeView, pods, settings, tainted } from '../../support/builders.ts';

const now = Date.parse('2026-11-21T07:09:04Z');
const code = 'ascend/80CB8009';
/** A chip whose level is SubHealthFault has no action. */
const { action: _, ...subHealthy } = kernelFault({ source: 'device-plugin', code, message: 'performance may suffer' });

const responseTo = (given: object) =>
  decideNode({ node: nodeView(), faults: [subHealthy] }, settings({ mode: 'act', ...given })).kind;

function planOf(given: object) {
  const progress = {
    step: 1290,
    checkpointStep: 1200,
    at: '2026-11-21T07:09:00Z',
    pace: { msPerStep: 6000, stepsPerCheckpoint: 100 },
  };
  const job = jobView({ gpus: 32, progress });
  const quarantine = { state: 'quarantined', because: code } as const;
  const facts: RecoveryFacts = {
    attempt: { job, pods, nodes: [tainted()], undecided: [] },
    fresh: [{ ...subHealthy, quarantine }],
    handled: [],
    stops: 0,
    attempts: 3,
    asked: false,
    now,
  };
  return planStop(facts, job, settings(given).recovery).plan;
}

describe('the strategy for sub-health', () => {
  it('ignore is what happens without settings: nothing moves, and an Event warns', () => {
    expect(responseTo({})).toBe('warn');
    expect(responseTo({ faults: { codes: { [code]: 'record' } } })).toBe('record');
  });

  it('of all others begins with a response for the code', () => {
    expect(responseTo({ recovery: { mode: 'force', capacity: { short: 'standby' } } })).toBe('warn');
    expect(responseTo({ faults: { codes: { [code]: 'restart' } } })).toBe('restart');
    expect(responseTo({ faults: { codes: { [code]: 'quarantine' } } })).toBe('quarantine');
  });

  it('graceful exit is the default way to stop a job that still trains: after the next checkpoint', () => {
    expect(planOf({})).toMatchObject({ severity: 'degrading', checkpoint: { strategy: 'fresh' } });
    expect(planOf({})).not.toHaveProperty('force');
  });

  it('forced exit waits for no checkpoint and no process', () => {
    const forced = { recovery: { mode: 'force', checkpoint: { strategy: 'none' } } };
    expect(planOf(forced)).toMatchObject({ force: true, checkpoint: { strategy: 'none' } });
  });

  it('swap takes a standby node, where the others lack capacity', () => {
    const swap = { recovery: { capacity: { short: 'standby' } } };
    const { capacity, severity } = planOf(swap);
    expect(capacity).toMatchObject({ choice: 'standby' });
    if (!capacity) return;
    const facts: CapacityFacts = {
      needed: 4,
      fit: 3,
      fitWithStandby: 4,
      standbyNodes: ['s-0'],
      because: 'one node is tainted',
      sizes: { now: 4, least: 4 },
    };
    expect(decideCapacity({ facts, plan: capacity, severity, by: 'suspend' }, settings(swap))).toMatchObject({
      kind: 'standby',
    });
  });
});
