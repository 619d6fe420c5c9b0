/** Time-outs and retries of every activity, in one table, with reasons. */

import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  CancellationScope,
  condition,
  isCancellation,
  type LocalActivityOptions,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, Announcement, Announcements } from '../contract/wire/activities.ts';
import { waitsTaskQueue } from '../contract/ids.ts';
import { inMarkdown } from '../contract/text.ts';

type Name = keyof Activities;
type DecisionActivities = Pick<Activities, Extract<Name, `decide${string}`>>;

/** In memory, except that the decision on an incident asks the workflows of nodes, for 2 s at most. Local, so that a decision costs one event and no queue. */
const decision: LocalActivityOptions = { startToCloseTimeout: '10s', retry: { maximumInterval: '10s' } };

/** One or two calls to the API server, each with a time-out of 10 s. Retried without end: the workflow of a job or a node waits while it cannot observe the cluster. */
const call: ActivityOptions = {
  startToCloseTimeout: '15s',
  retry: { initialInterval: '200ms', maximumInterval: '15s' },
};

/** A dead worker is noticed after this time, in every activity that can take longer. */
const lively = { heartbeatTimeout: '10s' } as const satisfies ActivityOptions;

/** As `call`, for every node of the cluster, page by page, of which there may be ten thousand. No quarantine is granted before. */
const count: ActivityOptions = { ...call, ...lively, startToCloseTimeout: '2m' };

/** For an incident: what cannot be seen for some seconds is returned as unobservable, and the incident limits how long that may last. */
const look: ActivityOptions = { ...call, ...lively, startToCloseTimeout: '45s' };

/** A stop that was begun is finished, however long the API server cannot be reached. */
const persistent: ActivityOptions = {
  ...lively,
  startToCloseTimeout: '20s',
  retry: { initialInterval: '200ms', maximumInterval: '15s' },
};

/** A few calls with conflicts retried inside. */
const edit: ActivityOptions = { ...persistent, scheduleToCloseTimeout: '1 day' };

/**
 * A reservation that is not written soon is given to others: without an answer it is requested again, under the conditions of that time.
 * The same holds for a release, because faults of the node wait for its end, and people must learn that it is refused.
 */
const taint: ActivityOptions = { ...persistent, scheduleToCloseTimeout: '1m' };

/** Waits for the cluster, with a deadline in the request. The heartbeat reveals a dead worker, but tolerates a Temporal that does not answer for seconds. */
const watch: ActivityOptions = {
  heartbeatTimeout: '20s',
  startToCloseTimeout: '2 days',
  retry: { initialInterval: '200ms', maximumInterval: '5s' },
  cancellationType: ActivityCancellationType.TRY_CANCEL,
};

/** As `watch`, but a stop that was begun is finished before anything else is decided. */
const stop: ActivityOptions = { ...watch, cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED };

/** These may take a day, and must not occupy a worker's other slots: they have their own task queue. */
const waits: readonly ActivityOptions[] = [watch, stop];
/** Each notification has its own deadline inside; a workflow that misses it asks again by itself. */
const once: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1m',
  retry: { maximumAttempts: 2 },
};

/** What a recovery can do without: looks at the whole cluster, and improvements. Without an answer it goes on, and says so. */
const optional: ActivityOptions = {
  ...lively,
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1m',
  retry: { initialInterval: '200ms', maximumInterval: '5s' },
};

/** As `optional`, but it may wait for another caller's look to end before its own begins. */
const shared: ActivityOptions = { ...optional, startToCloseTimeout: '1m', scheduleToCloseTimeout: '2m' };

/** A search that the first fault of a job waits for. Visibility may be slow or down; then the job is looked after without the result. */
const lookUp: ActivityOptions = {
  startToCloseTimeout: '15s',
  scheduleToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '5s' },
};

/** Must not delay a stop: what is not captured in time is left out. The request has its own deadline of at most a minute; a second try follows when the worker died. */
const capture: ActivityOptions = {
  ...lively,
  startToCloseTimeout: '75s',
  scheduleToCloseTimeout: '90s',
  retry: { initialInterval: '200ms', maximumInterval: '5s', maximumAttempts: 2 },
};

/** Worth some retries, but no incident waits for it for ever. */
const record: ActivityOptions = {
  startToCloseTimeout: '15s',
  scheduleToCloseTimeout: '10m',
  retry: { maximumInterval: '30s' },
};

/** Events for people: retried for a while, and nothing urgent waits for them. */
const announcement: ActivityOptions = {
  startToCloseTimeout: '15s',
  scheduleToCloseTimeout: '2m',
  retry: { maximumInterval: '15s' },
};

/** To people outside of the cluster, who may be reached again tomorrow. */
const notification: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '1s', maximumInterval: '10m' },
};

const table = {
  observeNode: call,
  observeJob: call,
  observeAttempt: look,
  listPods: look,
  observeCluster: count,
  storePause: optional,
  reserveQuarantine: call,
  quarantineNode: taint,
  releaseNode: taint,
  recallIncidents: record,
  permitRepair: count,
  observeMachine: call,
  observeMaintenance: look,
  orderQuarantine: taint,
  returnNode: edit,
  drainNode: watch,
  runHook: watch,
  awaitProof: watch,
  notifyJobs: edit,
  notifyNodes: edit,
  observeWorkload: call,
  noteVerdict: record,
  resumeJob: persistent,
  removeRecoveryLabel: edit,
  findRecoveries: lookUp,
  lookAtRecovery: call,
  notifyWaiting: once,
  stopAttempt: stop,
  awaitAttempt: watch,
  verifyProgress: watch,
  awaitCheckpoint: watch,
  observeCapacity: shared,
  joinWave: optional,
  takeStandbyNodes: optional,
  resizeJob: optional,
  askProcesses: optional,
  captureEvidence: capture,
  recordIncident: record,
  announce: announcement,
  deliverNotification: notification,
} as const satisfies Record<Exclude<Name, `decide${string}`>, ActivityOptions>;

/**
 * In a storm, activities wait for a free slot: what protects nodes and jobs comes before what observes them, and that before what is written for
 * people. Lower comes sooner; 3 is Temporal's default.
 */
const priorityKeys: Partial<Record<Performed, number>> = {
  reserveQuarantine: 1,
  quarantineNode: 1,
  notifyJobs: 1,
  stopAttempt: 1,
  resumeJob: 1,
  noteVerdict: 5,
  recordIncident: 5,
  announce: 5,
};

/**
 * What usually takes milliseconds, and where doing it again does no harm: it is tried within the workflow task itself, which saves five history events
 * and a round through the queue. What does not answer at once becomes an ordinary activity, with its retries.
 */
const localFirst: ReadonlySet<Performed> = new Set([
  'observeNode',
  'observeJob',
  'observeAttempt',
  'observeCapacity',
  'resumeJob',
]);

/** A signal waits as long as a local activity runs. */
const atOnce: LocalActivityOptions = { startToCloseTimeout: '3s', retry: { maximumAttempts: 1 } };

const decided = (summary: string) => proxyLocalActivities<DecisionActivities>({ ...decision, summary });
export const { decideNode } = decided('what the faults mean for the node');
export const { decideIncident } = decided('whether the faults open an incident');
export const { decideRecovery } = decided('what to do next');
export const { decideOptIn } = decided('whether the job could be recovered');
export const { decideCapacity } = decided('whether there is capacity for the next attempt');
export const { decideCollection } = decided('how long reports may be collected');
export const { decidePreflight } = decided('which nodes are slow or broken');

type Performed = keyof typeof table;

/**
 * Calls one activity under its entry in the table, with the sentence that the Temporal UI shows beside it. It takes the Events along that wait to be
 * written: an activity for each would double the history.
 */
export const perform = <N extends Performed>(
  name: N,
  summary: string,
  request: Parameters<Activities[N]>[0],
): ReturnType<Activities[N]> => {
  const events = name === 'announce' ? [] : unwritten.splice(0);
  const call = localFirst.has(name) ? callAtOnce : schedule;
  if (events.length === 0) return call(name, summary, request);
  const result = call(name, summary, request, { events });
  // An activity that fails for good may never have begun.
  result.then(
    () => settled(events),
    () => announceAlone(events),
  );
  return result;
};

function schedule<N extends Performed>(
  name: N,
  summary: string,
  request: Parameters<Activities[N]>[0],
  along?: Announcements,
): ReturnType<Activities[N]> {
  const options = table[name];
  const queue = waits.includes(options) && { taskQueue: waitsTaskQueue(workflowInfo().taskQueue) };
  const priority = { priorityKey: priorityKeys[name] ?? 3 };
  const proxy = proxyActivities<Activities>({ ...options, ...queue, priority, summary: short(summary) });
  return invoke(proxy[name], request, along) as ReturnType<Activities[N]>;
}

/** Events go along as a second argument, which every activity takes. */
const invoke = (activity: unknown, request: unknown, along: Announcements | undefined): Promise<unknown> =>
  (activity as (...args: readonly unknown[]) => Promise<unknown>)(request, ...(along ? [along] : []));

function callAtOnce<N extends Performed>(
  name: N,
  summary: string,
  request: Parameters<Activities[N]>[0],
  along?: Announcements,
): ReturnType<Activities[N]> {
  const local = proxyLocalActivities<Activities>({ ...atOnce, summary: short(summary) });
  // The failure of a local activity is not wrapped like that of an activity, and would end the workflow.
  return invoke(local[name], request, along).catch((error: unknown): unknown => {
    if (isCancellation(error)) throw error;
    return schedule(name, summary, request, along);
  }) as ReturnType<Activities[N]>;
}

/** Events that the next activity takes along. Each run has its own modules, and so its own list. */
const unwritten: Announcement[] = [];

/** Whether Events wait for the next activity, or for the end of the task. */
export const hasUnwritten = (): boolean => unwritten.length > 0;

/** Number of Events that are not written yet. */
let announcing = 0;

/**
 * Writes Kubernetes Events. Nothing fails for them, and nothing has to wait for them. They are written even where the workflow is cancelled in the
 * same task: a rejection that nothing handles would fail that task again and again.
 */
export function announce(...events: Announcement[]): Promise<void> {
  announcing += events.length;
  unwritten.push(...events);
  return CancellationScope.nonCancellable(async () => {
    await endOfTask();
    const left = unwritten.splice(0);
    if (left.length > 0) await announceAlone(left);
  });
}

/** Resolves when everything has run that this workflow task makes possible: conditions are looked at again at its end. */
function endOfTask(): Promise<void> {
  let looks = 0;
  return condition(() => looks++ > 0);
}

async function announceAlone(events: Announcement[]): Promise<void> {
  const summary = events.map((one) => `Event ${one.reason}`).join(', ');
  await CancellationScope.nonCancellable(() => schedule('announce', summary, { events })).catch(() => undefined);
  settled(events);
}

function settled(events: readonly Announcement[]): void {
  announcing -= events.length;
}

/** Whether every Event was written, or given up: a run that ends earlier loses those that are still tried. */
export const allAnnounced = (): boolean => announcing === 0;

/**
 * Before a run continues as new. The answer of a local activity and a signal of the same workflow task reach the workflow one after the other, so a run
 * that ended on the answer would lose the signal; a timer fires after the signals of its task. Events that are still tried are waited for, but not
 * for long: as long as faults keep coming, so do Events, and the history would grow without end.
 */
export async function awaitLastMessages(): Promise<void> {
  await sleep(1, { summary: 'before the run continues as new' });
  if (!allAnnounced()) await condition(allAnnounced, '10s');
}

/** Undefined when an activity failed for good: the caller can do without its result. */
export const tolerate = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (error instanceof ActivityFailure && !isCancellation(error)) return undefined;
    throw error;
  });

/** The result of an activity, or why it failed for good. */
export const attempt = async <T>(work: Promise<T>): Promise<{ readonly done: T } | { readonly failed: string }> => {
  try {
    return { done: await work };
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    // The error of the last try says more than the time-out.
    const last = error.cause instanceof TimeoutFailure ? error.cause.cause : undefined;
    return { failed: (last ?? error.cause ?? error).message };
  }
};

/** Temporal takes at most 400 bytes as a summary, and shows it as Markdown. */
export function short(text: string): string {
  const shown = inMarkdown(text);
  const most = new TextEncoder().encode(shown.slice(0, 200)).length <= 400 ? 200 : 130;
  return shown.length <= most ? shown : `${shown.slice(0, most - 3).toWellFormed()}...`;
}
