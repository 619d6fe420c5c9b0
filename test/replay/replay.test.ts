/** Recorded histories must replay with the current workflows, because a running workflow keeps its history through an upgrade. */

import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker';
import { workflowTypes } from '../../contract/ids.ts';
import { type RecordedEvent, type RecordedHistory, recordedHistories } from './histories.ts';

let workflowBundle: WorkflowBundle;

const upsert = 'EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES';

const changedName = 'a history of other code';

/** The result of each replay, by the name of its history: `undefined` is success. */
const failures = new Map<string, Error | undefined>();

/** One after the other on one worker, because starting a worker takes a second. */
async function replayAll(histories: readonly Pick<RecordedHistory, 'name' | 'json'>[]): Promise<void> {
  // Activity requests contain the id of the workflow.
  const given = histories.map(({ json }) => ({
    history: json,
    workflowId: json.events[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '',
  }));
  let index = 0;
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, given))
    failures.set(histories[index++]?.name ?? '', error);
}

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'off' } } });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    workflowInterceptorModules: [fileURLToPath(new URL('../../workflows/arrivals.ts', import.meta.url))],
    logger: new DefaultLogger('ERROR'),
  });
  const recorded = recordedHistories.find((history) => history.name.startsWith('recovery/restarted-after-two-stops@'));
  await replayAll([
    ...recordedHistories,
    { name: changedName, json: withOtherActivity(recorded?.json.events ?? [], 'stopAttempt') },
  ]);
}, 120_000);

describe('recorded histories', () => {
  it.each(recordedHistories)('replays $name', ({ name }) => {
    expect([...failures.keys()]).toContain(name);
    expect(failures.get(name)).toBeUndefined();
  });

  it.each(Object.values(workflowTypes))('has some of %s', (type) => {
    expect(recordedHistories.filter((history) => history.workflow === type)).not.toEqual([]);
  });

  it('names no process of the machine that it was recorded on', () => {
    expect(recordedHistories.filter(({ json }) => /"\d+@/.test(JSON.stringify(json)))).toEqual([]);
  });

  it('have stops of jobs that come before records and Events when activities must wait', () => {
    const priorities = recordedHistories
      .flatMap(({ json }) => json.events)
      .flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled ? [`${scheduled.activityType.name} ${scheduled.priority?.priorityKey ?? 3}`] : [],
      );
    expect([...new Set(priorities)]).toEqual(
      expect.arrayContaining([
        'quarantineNode 1',
        'stopAttempt 1',
        'captureEvidence 3',
        'recordIncident 5',
        'announce 5',
      ]),
    );
  });

  it('of recoveries write search attributes for the last time with the outcome, before the record', () => {
    const recoveries = recordedHistories.filter(({ workflow }) => workflow === 'recovery');
    const late = recoveries.map(({ json: { events } }) => {
      const recorded = events.findIndex(
        (event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'recordIncident',
      );
      return events.slice(recorded).filter(({ eventType }) => eventType === upsert).length;
    });
    expect(late).toEqual(recoveries.map(() => 0));
  });

  it('is refused when a workflow asks for another activity than it did then', () => {
    expect(failures.get(changedName)).toMatchObject({ name: 'DeterminismViolationError' });
  });
});

/** The history of another version of the workflow, which would request another activity at this point. */
function withOtherActivity(events: readonly RecordedEvent[], name: string): RecordedHistory['json'] {
  const changed = events.map((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    return scheduled?.activityType.name === name
      ? { ...event, activityTaskScheduledEventAttributes: { ...scheduled, activityType: { name: 'somethingElse' } } }
      : event;
  });
  return { events: changed };
}
