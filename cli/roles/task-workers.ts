/** The two Temporal workers of a process: one for workflows and short activities, one for activities that wait for the cluster. */

import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Activities } from '../../contract/wire/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import { waitsTaskQueue } from '../../contract/ids.ts';
import { temporalError, wordsOf } from '../clients/temporal.ts';

export interface CommonOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly activities: Activities;
}

const common = {
  // Activities that wait for the cluster are then retried by another worker. A kubelet kills the process after 30 s.
  shutdownGraceTime: '3s',
  shutdownForceTime: '20s',
  // By default a heartbeat is delayed for most of its timeout, so that a pause of two seconds in Temporal would look like a dead worker.
  maxHeartbeatThrottleInterval: '5s',
  activityTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 5, maximum: 20 },
} as const satisfies Partial<WorkerOptions>;

/** Worker for workflows, and for activities that take seconds. */
export const forEffects = (
  { taskQueue, activities, ...rest }: CommonOptions,
  workflowBundle: WorkerOptions['workflowBundle'],
): WorkerOptions => ({
  ...rest,
  ...common,
  taskQueue,
  activities: { ...activities },
  ...(workflowBundle && { workflowBundle }),
  maxCachedWorkflows: 1000,
  // The worker that has the workflow cached may have died: after this time another one gets the task.
  stickyQueueScheduleToStartTimeout: '5s',
  maxConcurrentActivityTaskExecutions: 500,
  maxConcurrentWorkflowTaskExecutions: 40,
  maxConcurrentLocalActivityExecutions: 100,
  workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 5, maximum: 20 },
});

/** Worker for activities that wait; `waits` of them at once. */
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
    // Creating a worker reads the namespace from the server. Any other error is a defect.
    if (error instanceof Error && error.name === 'TransportError') throw temporalError(error, 'start a worker');
    throw error;
  }
}

/** Runs the workers until `stopping`. When one ends by itself the others are stopped too, because a process that does only part of its work would look healthy. */
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
