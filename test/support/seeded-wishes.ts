/** What a job of a seeded story asks for, and what its operator allows. */

import { settings } from './builders.ts';
import type { SeededCluster } from './seeded-cluster.ts';

export interface Dice {
  /** True for so large a part of the seeds, 0 to 1. */
  chance(part: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** Sets up settings, wishes and the state of the training by chance, and says what they are. */
export function dress(cluster: SeededCluster, { chance, pick }: Dice): string {
  const progress = { step: 1290, checkpointStep: 1200, at: new Date().toISOString(), pace: { msPerStep: 6000, stepsPerCheckpoint: 100 } };
  const wishes = {
    level: pick(['process', 'process', 'pod', 'pod', 'job'] as const),
    checkpoint: pick(['none', 'fresh', 'dying-gasp'] as const),
    capacity: pick(['hold', 'spare', 'spare', 'spare', 'shrink', 'shrink', 'ask', 'restart'] as const),
    minReplicas: pick([2, 4]),
    mode: pick(['grace', 'grace', 'force'] as const),
    hang: pick(['ignore', 'notify', 'recover'] as const),
    ignored: [],
  };
  const asks = chance(0.4) ? { dead: 0, degrading: 0, slow: 0 } : {};
  const ledgers = { recoveries: 50, hardware: 50, platform: 50, user: 50, unknown: 50, crashLoop: 50, backoff: { first: '1ms', most: '1ms' } };
  const recovery = {
    correlation: pick(['0s', '50ms']),
    attempts: pick([3, 10]),
    budget: ledgers,
    approval: { ...asks, otherwise: pick(['approve', 'deny']) },
    capacity: { check: chance(0.9), ...(chance(0.5) && { priorityClass: 'urgent' }) },
    evidence: { within: pick(['0s', '5s']) },
    levels: { process: '10s' },
    stop: { PyTorchJob: pick(['suspend', 'suspend', 'delete-collection']) },
  };
  cluster.settings = settings({ mode: 'act', recovery });
  if (cluster.view) cluster.view = { ...cluster.view, gpus: 32, wishes, ...(chance(0.8) && { progress }) };
  if (chance(0.6)) cluster.room = { fit: 3, fitWithSpares: pick([3, 4, 4, 4]), spares: ['gpu-19'], because: 'others are there' };
  cluster.unproven = pick([0, 0, 1]);
  cluster.late = pick([0, 0, 0, 1]);
  return JSON.stringify({ wishes, recovery: { ...recovery, budget: undefined }, room: cluster.room });
}

/** Steps that only a few stories have, and this one is likely to. */
export function rareSteps({ view, room, settings: { recovery } }: SeededCluster): readonly ('askProcesses' | 'takeSpares' | 'reshapeJob')[] {
  const { level, capacity } = view?.wishes ?? {};
  const isShort = recovery.capacity.check && room !== 'unseen' && room.fit !== undefined;
  const isReshaped = recovery.stop.PyTorchJob === 'suspend' && (recovery.capacity.priorityClass !== undefined || (isShort && capacity === 'shrink'));
  return [
    ...(level === 'process' && view?.progress ? (['askProcesses'] as const) : []),
    ...(isShort && capacity === 'spare' ? (['takeSpares'] as const) : []),
    ...(isReshaped ? (['reshapeJob'] as const) : []),
  ];
}
