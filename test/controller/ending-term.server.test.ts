import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, it } from '@jest/globals';
import { clusterWorkflowId, workflowTypes } from '../../contract/ids.ts';
import { eventually, testServers } from '../support/rig.ts';
import { LiveController, run } from './live-controller.ts';

it('a controller that stops leaves no call to Temporal behind, which would be tried again on a closed connection', async () => {
  const connection = await Connection.connect({ address: testServers().temporalAddress });
  const rig = await LiveController.open();
  // Without a worker it does not answer.
  const silent = await new Client({ connection }).workflow.start(workflowTypes.cluster, {
    taskQueue: `none-${run}`,
    workflowId: clusterWorkflowId,
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  try {
    const sample = await eventually(
      () => rig.metrics.getSingleMetricAsString('kcover_temporal_answers'),
      (text) => text.includes('kcover_temporal_answers 1'),
    );
    expect(sample).toContain('kcover_temporal_answers 1');
    // By now it is asked for open storms.
    await sleep(500);
  } finally {
    await rig.close();
    // Whoever asks whether kcover is paused would wait for its answer.
    await silent.terminate();
    // What a timer throws fails this test.
    await sleep(2000);
    await connection.close();
  }
});
