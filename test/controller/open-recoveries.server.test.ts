import { afterAll, describe, expect, it } from '@jest/globals';
import { TypedSearchAttributes } from '@temporalio/common';
import { recoveryId, workflowTypes } from '../../contract/ids.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { until } from '../../testbed/until.ts';
import { LiveController, run } from './live-controller.ts';

let rig: LiveController;
afterAll(() => rig?.close());

describe('recoveries that have not ended', () => {
  it('are counted by the phase that Temporal shows', async () => {
    rig = await LiveController.open();
    const phase = `held-${run}`;
    const handle = await rig.temporal.workflow.start(workflowTypes.recovery, {
      taskQueue: `nobody-${run}`,
      workflowId: recoveryId({ namespace: 'train', name: `open-${run}`, uid: run }, Date.now()),
      typedSearchAttributes: new TypedSearchAttributes(searchAttributePairs({ KcoverPhase: phase })),
    });
    try {
      const sample = `kcover_recoveries_open{phase="${phase}"} 1`;
      const counted = await until('the recovery is counted', 90_000, async () => {
        const text = await rig.metrics.getSingleMetricAsString('kcover_recoveries_open');
        return text.includes(sample) ? { found: text } : { missing: text };
      });
      expect(counted).toContain(sample);
    } finally {
      await handle.terminate('the test is over');
    }
  });
});
