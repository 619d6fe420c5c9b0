import { CancellationScope, condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { allAnnounced, decideCapacity, decideRecovery, perform, short, tolerate } from '../proxies.ts';
import type { Tools } from './tools.ts';
import { now } from '../arrivals.ts';

/** The tools of a recovery that runs as a workflow. */
export const temporalTools: Tools = {
  now,
  perform,
  tolerate,
  decideRecovery,
  decideCapacity,
  wait: (isDue, ms, summary) => condition(isDue, ms, summary === undefined ? {} : { summary: short(summary) }),
  unlessChanged,
  alongside,
  signal: (workflowId, name, payload) =>
    getExternalWorkflowHandle(workflowId)
      .signal(name, payload)
      .catch(() => undefined),
  allAnnounced: () => condition(allAnnounced),
};

async function unlessChanged<T>(hasChanged: () => boolean, work: () => Promise<T>): Promise<T | 'changed'> {
  if (hasChanged()) return 'changed';
  const scope = new CancellationScope();
  const waiting = scope.run(work).then((value) => ({ value }));
  const seen = await Promise.race([waiting, condition(hasChanged)]);
  if (seen !== undefined) return seen.value;
  scope.cancel();
  await waiting.catch(() => undefined);
  return 'changed';
}

async function alongside<T>(work: () => Promise<T>, beside: () => Promise<void>): Promise<T> {
  const scope = new CancellationScope();
  void scope.run(beside).catch(() => undefined);
  try {
    return await work();
  } finally {
    scope.cancel();
  }
}
