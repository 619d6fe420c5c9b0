/**
 * Delivers what arrives in the order in which a replay delivers it.
 *
 * Where a query is answered while a local activity ends, its result is recorded with one workflow task, but the workflow continues from it in the
 * next one; a replay continues at once. Signals, timers and results of activities that the next task brings would come before the local result, and
 * in a replay after it. Commands in another order fail every further task of the workflow. So, while local activities run, arrivals wait until the
 * workflow has done all that follows from their results.
 *
 * Temporal loads this module as interceptors of all workflows.
 */

import {
  CancellationScope,
  condition,
  isCancellation,
  workflowInfo,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  type WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import { hasUnwritten } from './proxies.ts';

/** Local activities that run. Each run has its own modules, and so its own numbers. */
let running = 0;

let isLong = false;

/**
 * Whether Temporal suggests to continue as new. It is asked only when something arrives: the suggestion belongs to a workflow task, and a replay may
 * deliver the result of a local activity in another one.
 */
export const isHistoryLong = (): boolean => isLong;

/** Time while it stands still, ms. */
let standsAt: number | undefined;

/**
 * Time, ms, for all that a workflow decides. It stands still from the beginning of a local activity until something arrives: a replay may continue from
 * the result at another time, and what depends on the time would be decided otherwise.
 */
export const now = (): number => standsAt ?? Date.now();

function note(at: number): void {
  standsAt = at < Date.now() ? at : undefined;
  isLong ||= workflowInfo().continueAsNewSuggested;
}

/** Events that follow from a local result are written by commands, too. Nothing that arrives is lost where the workflow is cancelled meanwhile. */
const localsEnded = (): Promise<void> =>
  CancellationScope.nonCancellable(() => condition(() => running === 0 && !hasUnwritten()));

function deliver<T>(handle: () => Promise<T>, at = Date.now()): Promise<T> {
  if (running > 0) return localsEnded().then(() => deliver(handle, at));
  note(at);
  return handle();
}

async function inOrder<T>(result: Promise<T>): Promise<T> {
  let hasArrived = true;
  try {
    return await result;
  } catch (error) {
    // The workflow itself has cancelled it.
    hasArrived = !isCancellation(error);
    throw error;
  } finally {
    const at = Date.now();
    if (running > 0) await localsEnded();
    if (hasArrived) note(at);
  }
}

const inbound: WorkflowInboundCallsInterceptor = {
  handleSignal: (input, next) => deliver(() => next(input)),
  handleUpdate: (input, next) => deliver(() => next(input)),
};

const outbound: WorkflowOutboundCallsInterceptor = {
  scheduleLocalActivity(input, next) {
    running += 1;
    standsAt ??= Date.now();
    return next(input).finally(() => {
      running -= 1;
    });
  },
  scheduleActivity: (input, next) => inOrder(next(input)),
  startTimer: (input, next) => inOrder(next(input)),
  signalWorkflow: (input, next) => inOrder(next(input)),
  async startChildWorkflowExecution(input, next) {
    const [started, result] = await next(input);
    const ended = inOrder(result);
    // Nothing waits for the end of a child that reports it by a signal.
    ended.catch(() => undefined);
    return [inOrder(started), ended];
  },
};

export const interceptors = (): WorkflowInterceptors => ({ inbound: [inbound], outbound: [outbound] });
