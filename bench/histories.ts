/** Times and event counts of an incident from Temporal's histories. */

import type { Client, WorkflowHandle } from '@temporalio/client';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

/** One step of a workflow: how long it waited to be started, and how long it then ran. ms */
export interface HistoryStep {
  readonly what: string;
  readonly waited: number;
  readonly took: number;
}

export interface HistoryRead {
  readonly events: number;
  /** Time of the first signal in the history. */
  readonly firstSignal: number | undefined;
  /** Time at which the workflow was started. */
  readonly started: number;
  readonly steps: readonly HistoryStep[];
}

export async function readHistory(client: Client, workflowId: string): Promise<HistoryRead> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const list = events ?? [];
  const [first] = list;
  const signal = list.find((event) => event.workflowExecutionSignaledEventAttributes);
  return {
    events: list.length,
    firstSignal: signal && timeOf(signal),
    started: first ? timeOf(first) : Number.NaN,
    steps: stepsOf(list),
  };
}

/** Number of events so far. */
export async function historyLength(client: Client, workflowId: string): Promise<number> {
  const { historyLength: length } = await client.workflow.getHandle(workflowId).describe();
  return length;
}

const timeOf = ({ eventTime }: HistoryEvent): number =>
  Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;

/** Workflow tasks and activities in the order in which they were scheduled. */
function stepsOf(events: readonly HistoryEvent[]): HistoryStep[] {
  const byId = new Map(events.map((event) => [Number(event.eventId), event]));
  const tasks = new Map<string, number>();
  const numbered = (what: string): string => {
    const count = (tasks.get(what) ?? 0) + 1;
    tasks.set(what, count);
    return count === 1 ? what : `${what} (${count})`;
  };
  const found: { at: number; what: string; waited: number; took: number }[] = [];
  const add = (what: string, scheduledId: unknown, startedId: unknown, ended: HistoryEvent): void => {
    const [scheduled, started] = [byId.get(Number(scheduledId)), byId.get(Number(startedId))];
    if (scheduled && started)
      found.push({
        at: Number(scheduledId),
        what,
        waited: timeOf(started) - timeOf(scheduled),
        took: timeOf(ended) - timeOf(started),
      });
  };
  for (const event of events) {
    const task = event.workflowTaskCompletedEventAttributes;
    const activity = event.activityTaskCompletedEventAttributes;
    if (task) add('workflow task', task.scheduledEventId, task.startedEventId, event);
    if (activity)
      add(
        byId.get(Number(activity.scheduledEventId))?.activityTaskScheduledEventAttributes?.activityType?.name ?? '',
        activity.scheduledEventId,
        activity.startedEventId,
        event,
      );
  }
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ what, waited, took }) => ({ what: numbered(what), waited, took }));
}
