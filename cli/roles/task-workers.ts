/** The two Temporal workers of one process: one for workflows and effects, one for activities that only wait. */

import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Activities } from '../../contract/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import { waitsTaskQueue } from '../../contract/ids.ts';
import { temporalError, wordsOf } from '../temporal.ts';

export interface CommonOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly activities: Activities;
}

const common = {
  // What waits for the cluster is handed to another worker then; a kubelet kills after 30 s.
  shutdownGraceTime: '3s',
  shutdownForceTime: '20s',
  // By default a heartbeat is held back for most of its time-out, and a Temporal that does not answer for two seconds looks like the death of a worker.
  maxHeartbeatThrottleInterval: '5s',
  activityTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 5, maximum: 20 },
} as const satisfies Partial<WorkerOptions>;

/** Workflows, and activities that are over in seconds. */
export const forEffects = ({ taskQueue, activities, ...rest }: CommonOptions, workflowBundle: WorkerOptions['workflowBundle']): WorkerOptions => ({
  ...rest,
  ...common,
  taskQueue,
  activities: { ...activities },
  ...(workflowBundle && { workflowBundle }),
  maxCachedWorkflows: 1000,
  // What is cached belongs to a worker that may have died: after this, another takes the task.
  stickyQueueScheduleToStartTimeout: '5s',
  maxConcurrentActivityTaskExecutions: 500,
  maxConcurrentWorkflowTaskExecutions: 40,
  maxConcurrentLocalActivityExecutions: 100,
  workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 5, maximum: 20 },
});

/** Activities that wait, so many at once. */
export const forWaits = ({ taskQueue, activities, ...rest }: CommonOptions, waits: number): WorkerOptions => ({
  ...rest,
  ...common,
  taskQueue: waitsTaskQueue(taskQueue),
  activities: { ...activities },
  maxConcurrentActivityTaskExecutions: waits,
});

export async function createWorker(options: WorkerOptions): Promise<Worker> {
  try {
    return await Worker.create(options);
  } catch (error) {
    // It asks the server for the namespace; anything else is a defect of ours.
    if (error instanceof Error && error.name === 'TransportError') throw temporalError(error, 'start a worker');
    throw error;
  }
}

/** Runs until `stopping`. One that ends by itself ends the others too: a process that does half of its work would pass for a healthy one. */
export async function runWorkers(workers: readonly Worker[], stopping: AbortSignal): Promise<void> {
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  stopping.addEventListener('abort', shutdown, { once: true });
  const running = workers.map((worker) => run(worker));
  try {
    await Promise.race(running);
  } finally {
    shutdown();
    await Promise.allSettled(running);
  }
  await Promise.all(running);
}

async function run(worker: Worker): Promise<void> {
  try {
    await worker.run();
  } catch (error) {
    throw new KcoverError('temporal.unreachable', `the worker ended: ${wordsOf(error)}`, { cause: error });
  }
}
