/** The overrides of a job in a seeded scenario, and what its operator allows. */

import { settings } from './builders.ts';
import type { SeededCluster } from './seeded-cluster.ts';

export interface Dice {
  /** True with this probability, 0 to 1. */
  chance(part: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** Steps that few scenarios would reach by chance: every other scenario is built to reach one of them. */
const rareSteps = ['askProcesses', 'takeStandbyNodes', 'resizeJob'] as const;

export interface DrawnOverrides {
  /** Settings, overrides and capacity, for the log. */
  readonly said: string;
  /** The step that it is likely to reach. */
  readonly rare: (typeof rareSteps)[number] | undefined;
}

/** Draws settings, overrides and the state of the training. */
export function drawOverrides(cluster: SeededCluster, { chance, pick }: Dice): DrawnOverrides {
  const rare = chance(0.5) ? pick(rareSteps) : undefined;
  const progress = {
    step: 1290,
    checkpointStep: 1200,
    at: new Date().toISOString(),
    pace: { msPerStep: 6000, stepsPerCheckpoint: 100 },
  };
  const level = pick(['process', 'pod', 'pod', 'job'] as const);
  const capacity = pick(['hold', 'standby', 'shrink', 'ask', 'restart'] as const);
  const overrides = {
    level: rare === 'askProcesses' ? 'process' : rare === 'resizeJob' ? 'job' : level,
    checkpoint: pick(['none', 'fresh', 'on-termination'] as const),
    capacity: rare === 'takeStandbyNodes' ? 'standby' : capacity,
    minReplicas: pick([2, 4]),
    mode: pick(['grace', 'grace', 'force'] as const),
    hang: pick(['ignore', 'notify', 'recover'] as const),
    ignored: [],
  };
  const asks = chance(0.4) ? { dead: 0, degrading: 0, slow: 0 } : {};
  const usageByCategory = {
    recoveries: 50,
    hardware: 50,
    platform: 50,
    user: 50,
    unknown: 50,
    crashLoop: 50,
    backoff: { first: '1ms', most: '1ms' },
  };
  const priority = chance(0.1) || rare === 'resizeJob' ? { priorityClass: 'urgent' } : {};
  const by = pick(['suspend', 'suspend', 'delete-collection']);
  const recovery = {
    correlation: pick(['0s', '50ms']),
    attempts: pick([3, 10]),
    budget: usageByCategory,
    approval: { ...asks, otherwise: pick(['approve', 'deny']) },
    capacity: { check: chance(0.8) || rare === 'takeStandbyNodes', ...priority },
    evidence: { within: pick(['0s', '5s']) },
    levels: { process: '10s' },
    stop: { PyTorchJob: rare === 'resizeJob' ? 'suspend' : by },
  };
  cluster.settings = settings({ mode: 'act', recovery });
  if (cluster.view)
    cluster.view = {
      ...cluster.view,
      gpus: 32,
      overrides,
      ...((chance(0.8) || rare === 'askProcesses') && { progress }),
    };
  const isShort = chance(0.4) || rare === 'takeStandbyNodes';
  if (isShort)
    cluster.capacity = {
      fit: 3,
      fitWithStandby: rare === 'takeStandbyNodes' ? 4 : pick([3, 4]),
      standbyNodes: ['gpu-19'],
      because: 'others are there',
    };
  cluster.unproven = pick([0, 0, 1]);
  cluster.late = pick([0, 0, 0, 1]);
  return {
    said: JSON.stringify({ overrides, recovery: { ...recovery, budget: undefined }, capacity: cluster.capacity }),
    rare,
  };
}
