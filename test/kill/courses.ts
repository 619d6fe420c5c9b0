/** Recoveries that take their time: what each of them is to be like, and its steps in their order. */

import { wishAnnotations } from '../../contract/job-wishes.ts';
import type { PytorchJobOptions } from '../../testbed/job-manifests.ts';
import { quick } from '../support/live-kcover.ts';
import { urgent } from './priority.ts';

/** In the order in which a matrix comes to them. */
export const carefulSteps = [
  'asking the processes',
  'held for room',
  'taking stand-by nodes',
  'giving priority',
  'waiting for approval',
  'capturing evidence',
  'waiting for a checkpoint',
  'checking capacity',
  'broken pod going',
  'dying gasp',
  'shrinking',
  'verifying',
] as const;
export type CarefulStep = (typeof carefulSteps)[number];

interface CourseOf {
  readonly steps: readonly CarefulStep[];
  /** Steps that no other course has to be killed at, in a matrix of all steps. */
  readonly own: readonly CarefulStep[];
  /** Of the job, in a pool of three nodes. */
  readonly workers: number;
  readonly options: Partial<PytorchJobOptions>;
  /** Pods that run in the end. */
  readonly podsAfter: number;
  /** Who lets it go on. */
  readonly answer: 'person' | 'silence';
}

/** A worker alone is the broken one in each. Where processes are asked its container died and no node is to blame, in the others its GPU degrades. */
export const courses = {
  'after its processes did not answer': {
    steps: ['asking the processes', 'capturing evidence', 'checking capacity', 'broken pod going'],
    own: ['asking the processes'],
    workers: 1,
    options: { annotations: { [wishAnnotations.level]: 'process' }, terminationSeconds: 1 },
    podsAfter: 2,
    answer: 'silence',
  },
  'on a stand-by node': {
    steps: ['waiting for approval', 'capturing evidence', 'checking capacity', 'held for room', 'taking stand-by nodes', 'giving priority', 'verifying'],
    own: ['held for room', 'taking stand-by nodes', 'giving priority'],
    workers: 1,
    options: { annotations: { [wishAnnotations.checkpoint]: 'none', [wishAnnotations.capacity]: 'spare' } },
    podsAfter: 2,
    answer: 'person',
  },
  'after the next checkpoint': {
    steps: ['waiting for approval', 'capturing evidence', 'waiting for a checkpoint', 'checking capacity', 'verifying'],
    own: ['waiting for approval', 'waiting for a checkpoint', 'checking capacity', 'verifying'],
    workers: 1,
    options: {},
    podsAfter: 2,
    answer: 'person',
  },
  'with fewer pods': {
    steps: ['waiting for approval', 'capturing evidence', 'checking capacity', 'dying gasp', 'shrinking', 'verifying'],
    own: ['capturing evidence', 'dying gasp', 'shrinking'],
    workers: 2,
    options: {
      annotations: { [wishAnnotations.checkpoint]: 'dying-gasp', [wishAnnotations.capacity]: 'shrink', [wishAnnotations.minReplicas]: '2' },
      // Long enough to save, and for the most part also for a controller that is killed meanwhile to come back.
      terminationSeconds: 8,
    },
    podsAfter: 2,
    answer: 'silence',
  },
  'with the broken pod alone': {
    steps: ['waiting for approval', 'capturing evidence', 'waiting for a checkpoint', 'checking capacity', 'broken pod going', 'verifying'],
    own: ['broken pod going'],
    workers: 1,
    options: { annotations: { [wishAnnotations.level]: 'pod' }, terminationSeconds: 1 },
    podsAfter: 2,
    answer: 'person',
  },
} as const satisfies Record<string, CourseOf>;
export type Course = keyof typeof courses;

export const courseNames = Object.keys(courses) as Course[];
export const isCourse = (tale: string): tale is Course => Object.hasOwn(courses, tale);
export const courseOf = (course: Course): CourseOf => courses[course];

/** A line after which training goes on for a while: the severity that is asked about, whatever the size of the job. */
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
