/** What was recorded once must replay with the workflows of today: a running workflow carries its history through an upgrade. */

import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker';
import { workflowTypes } from '../../contract/ids.ts';
import { type RecordedEvent, type RecordedHistory, recordedHistories } from './histories.ts';

let workflowBundle: WorkflowBundle;

const replay = (json: RecordedHistory['json']) =>
  Worker.runReplayHistory({ workflowBundle }, json, json.events[0]?.workflowExecutionStartedEventAttributes?.workflowId);

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'off' } } });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
}, 60_000);

describe('recorded histories', () => {
  it.each(recordedHistories)('replays $name', async ({ json }) => {
    await replay(json);
  });

  it.each(Object.values(workflowTypes))('has some of %s', (type) => {
    expect(recordedHistories.filter((history) => history.workflow === type)).not.toEqual([]);
  });

  it('names no process of the machine that it was recorded on', () => {
    expect(recordedHistories.filter(({ json }) => /"\d+@/.test(JSON.stringify(json)))).toEqual([]);
  });

  it('is refused when a workflow asks for another activity than it did then', async () => {
    const recorded = recordedHistories.find((history) => history.name.startsWith('recovery/restarted@'));
    await expect(replay(withOtherActivity(recorded?.json.events ?? [], 'stopAttempt'))).rejects.toMatchObject({ name: 'DeterminismViolationError' });
  });
});

/** The same history, as a version of the workflow would have made it that asks for something else at this place. */
function withOtherActivity(events: readonly RecordedEvent[], name: string): RecordedHistory['json'] {
  const changed = events.map((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    return scheduled?.activityType.name === name
      ? { ...event, activityTaskScheduledEventAttributes: { ...scheduled, activityType: { name: 'somethingElse' } } }
      : event;
  });
  return { events: changed };
}
