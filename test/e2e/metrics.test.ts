/** What Prometheus reads from the roles while a job is recovered. */

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { temporalMetrics } from '../../contract/metrics/temporal.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import type { Server } from '../../testbed/servers/server.ts';
import { until } from '../../testbed/until.ts';
import { LiveKcover, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), { workflowBundle });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

/** Waits until a role serves this sample. */
const serves = (role: Server, sample: RegExp): Promise<string> =>
  until(`${role.name} serves ${sample.source}`, 90_000, async () => {
    const text = await live.kcover.metricsOf(role);
    return sample.test(text) ? { found: text } : { missing: 'not yet' };
  });

describe('the metrics of a recovery', () => {
  it('name the fault and the quarantined node, and in the end the outcome and the duration', async () => {
    const { controller, workers } = live.kcover;
    const [worker] = workers;
    const job = await live.pytorch();
    const node = job.nodes.at(-1);
    if (!node || !worker) throw new Error('a node and a worker are needed');
    const before = Date.now() / 1000;
    await breakGpu(node, xid79);
    await live.quarantined(node);
    await serves(controller, /^kcover_faults_total\{about="node",code="xid\/79"\} [1-9]/m);
    const text = await serves(
      controller,
      new RegExp(`^kcover_node_quarantine_start_timestamp_seconds\\{node="${node.name}"\\} `, 'm'),
    );
    const since = Number(
      new RegExp(`quarantine_start_timestamp_seconds\\{node="${node.name}"\\} (\\S+)`).exec(text)?.[1],
    );
    expect(since).toBeGreaterThan(before - 60);
    expect(since).toBeLessThan(Date.now() / 1000 + 60);
    // The workflow of the cluster answers the leader: one node is no storm.
    await serves(controller, /^kcover_storms_open 0$/m);

    await live.settled(job);
    const counted = await serves(worker, /^kcover_recovery_duration_seconds_count\{outcome="restarted"\} 1$/m);
    expect(counted).toMatch(/^kcover_recoveries_total\{outcome="restarted"\} 1$/m);
    expect(counted).toMatch(/^kcover_recoveries_total\{outcome="escalated"\} 0$/m);
  });

  it('include those of Temporal that alerts and dashboard read, with their labels', async () => {
    const [worker] = live.kcover.workers;
    if (!worker) throw new Error('a worker is needed');
    // Its tasks fail, because the worker does not know this type.
    const workflowType = 'unknownToTheWorker';
    const options = { taskQueue: 'kcover', workflowId: `unknown-${randomUUID()}` };
    const handle = await live.temporal.workflow.start(workflowType, options);
    try {
      const failed = temporalMetrics.workflowTasksFailed.name;
      const text = await serves(
        worker,
        new RegExp(`^${failed}\\{[^}]*workflow_type="${workflowType}"[^}]*\\} [1-9]`, 'm'),
      );
      const missing = Object.values(temporalMetrics).filter(({ name, labelNames }) => {
        const sample = text.split('\n').find((line) => new RegExp(`^${name}(_bucket)?\\{`).test(line)) ?? '';
        return !labelNames.every((label) => sample.includes(`${label}="`));
      });
      expect(missing).toEqual([]);
    } finally {
      await handle.terminate('the test is over');
    }
  });
});
