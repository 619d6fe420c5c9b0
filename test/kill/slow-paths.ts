/** Scenarios of the slow path: parameters of each, and its steps in order. */

import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import type { PytorchJobOptions } from '../../testbed/job-manifests.ts';
import { quick } from '../support/live-kcover.ts';
import { urgent } from './priority.ts';

/** In the order of a matrix. */
export const slowPathSteps = [
  'asking the processes',
  'held for capacity',
  'taking standby nodes',
  'giving priority',
  'waiting for approval',
  'capturing evidence',
  'waiting for a checkpoint',
  'broken pod going',
  'final checkpoint',
  'shrinking',
  'verifying',
] as const;
export type SlowPathStep = (typeof slowPathSteps)[number];

interface SlowPathSpec {
  readonly steps: readonly SlowPathStep[];
  /** Steps at which only this scenario is killed, in a matrix of all steps. */
  readonly own: readonly SlowPathStep[];
  /** Workers of the job, in a pool of three nodes. */
  readonly workers: number;
  readonly options: Partial<PytorchJobOptions>;
  /** Number of pods that run in the end. */
  readonly podsAfter: number;
  /** Who answers the question. */
  readonly answer: 'person' | 'nobody';
}

/** Only a worker is broken in each. Where processes are asked, its container failed and no node is to blame; in the others its GPU degrades. */
export const slowPaths = {
  'after its processes did not answer': {
    steps: ['asking the processes', 'capturing evidence', 'broken pod going'],
    own: ['asking the processes'],
    workers: 1,
    options: { annotations: { [overrideAnnotations.level]: 'process' }, terminationSeconds: 1 },
    podsAfter: 2,
    answer: 'nobody',
  },
  'on a standby node': {
    steps: [
      'waiting for approval',
      'capturing evidence',
      'held for capacity',
      'taking standby nodes',
      'giving priority',
      'verifying',
    ],
    own: ['held for capacity', 'taking standby nodes', 'giving priority'],
    workers: 1,
    options: { annotations: { [overrideAnnotations.checkpoint]: 'none', [overrideAnnotations.capacity]: 'standby' } },
    podsAfter: 2,
    answer: 'person',
  },
  'after the next checkpoint': {
    steps: ['waiting for approval', 'capturing evidence', 'waiting for a checkpoint', 'verifying'],
    own: ['waiting for approval', 'waiting for a checkpoint', 'verifying'],
    workers: 1,
    options: {},
    podsAfter: 2,
    answer: 'person',
  },
  'with fewer pods': {
    steps: ['waiting for approval', 'capturing evidence', 'final checkpoint', 'shrinking', 'verifying'],
    own: ['capturing evidence', 'final checkpoint', 'shrinking'],
    workers: 2,
    options: {
      annotations: {
        [overrideAnnotations.checkpoint]: 'on-termination',
        [overrideAnnotations.capacity]: 'shrink',
        [overrideAnnotations.minReplicas]: '2',
      },
      // Long enough to save, and usually also for a killed controller to come back.
      terminationSeconds: 8,
    },
    podsAfter: 2,
    answer: 'nobody',
  },
  'with the broken pod alone': {
    steps: ['waiting for approval', 'capturing evidence', 'waiting for a checkpoint', 'broken pod going', 'verifying'],
    own: ['broken pod going'],
    workers: 1,
    options: { annotations: { [overrideAnnotations.level]: 'pod' }, terminationSeconds: 1 },
    podsAfter: 2,
    answer: 'person',
  },
} as const satisfies Record<string, SlowPathSpec>;
export type SlowPath = keyof typeof slowPaths;

export const slowPathNames = Object.keys(slowPaths) as SlowPath[];
export const isSlowPath = (scenario: string): scenario is SlowPath => Object.hasOwn(slowPaths, scenario);
export const slowPathOf = (slowPath: SlowPath): SlowPathSpec => slowPaths[slowPath];

/** A line after which training continues for a while: the severity that needs approval at any size of the job. */
export const degrading = 'NVRM: Xid (PCI:0000:5d:00): 64, pid=4242, name=python, a row could not be remapped.';
export const askingWorker = {
  ...quick,
  recovery: {
    ...quick.recovery,
    approval: { degrading: 0, within: '8s', otherwise: 'approve' },
    checkpoint: { acknowledged: '15s' },
    capacity: { priorityClass: urgent },
    levels: { process: '5s' },
  },
} as const;
