import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { clusterWorkflowId, workflowTypes } from '../../contract/ids.ts';
import { eventually } from '../support/rig.ts';
import { LiveController, run } from './live-controller.ts';

it('a controller that stops leaves no call to Temporal behind, which would be tried again on a closed connection', async () => {
  const rig = await LiveController.open();
  try {
    // Without a worker it does not answer.
    await rig.temporal.workflow.start(workflowTypes.cluster, {
      taskQueue: `none-${run}`,
      workflowId: clusterWorkflowId,
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const sample = await eventually(
      () => rig.metrics.getSingleMetricAsString('kcover_temporal_answers'),
      (text) => text.includes('kcover_temporal_answers 1'),
    );
    expect(sample).toContain('kcover_temporal_answers 1');
    // By now it is asked for open storms.
    await sleep(500);
  } finally {
    await rig.close();
  }
  // What is thrown by a timer fails this test.
  await sleep(2000);
});
