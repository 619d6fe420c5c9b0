/** What a worker counts of workflows that no test elsewhere brings to such an end, with real activity contexts. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { Registry } from 'prom-client';
import { metered } from '../../activities/index.ts';
import { toFailure } from '../../activities/job/failures.ts';
import { workerMetrics } from '../../cli/roles/worker-metrics.ts';
import { KcoverError } from '../../contract/errors.ts';
import { signals } from '../../contract/wire/messages.ts';
import { kernelFault, nodeView, settings } from '../support/builders.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

const registry = new Registry();
const route = `oncall-${randomUUID().slice(0, 8)}`;
let rig: Rig;
let cluster: FakeCluster;

const serves = (series: string) =>
  eventually(
    () => registry.metrics(),
    (text) => text.includes(`${series}\n`),
  );

describe('the metrics of a worker', () => {
  beforeAll(async () => {
    const meter = workerMetrics(registry, [route]);
    rig = await startRig(
      metered(
        activitiesOf(() => cluster),
        meter,
        pino({ level: 'silent' }),
      ),
    );
  });
  beforeEach(() => {
    cluster = new FakeCluster();
  });
  afterAll(() => rig.close());

  it('count a notification that its receiver refuses, by route and code', async () => {
    cluster.onNotification = async () => {
      throw toFailure(new KcoverError('notify.refused', 'route answered 404'));
    };
    const notification = {
      schema: 1,
      id: 'a',
      reason: 'RecoveryStarted',
      severity: 'warning',
      about: 'pytorchjob/llm in train',
      incident: 'recovery/a',
      message: 'xid/79',
      at: '2026-11-21T07:09:03.117Z',
      resolves: false,
    };
    await rig.client.workflow.signalWithStart('notify', {
      workflowId: `notify/${route}`,
      taskQueue: rig.taskQueue,
      args: [{ route }],
      signal: signals.notify,
      signalArgs: [{ notification, object: { kind: 'node', name: 'gpu-3' } }],
    });
    await serves(`kcover_notification_failures_total{route="${route}",code="notify.refused"} 1`);
  });

  it('count a repair that failed once, also when the node is released later', async () => {
    const node = `gpu-${randomUUID()}`;
    cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}`, systemUuid: node }));
    const rungs = [{ hook: 'reset', attempts: 1, proof: ['result'], verify: 'reset' }];
    cluster.settings = settings({
      mode: 'act',
      remediation: {
        mode: 'run',
        hooks: { reset: { kind: 'command', command: ['/bin/true'] } },
        ladders: [{ name: 'gpu', codes: ['xid/*'], rungs }],
      },
    });
    cluster.remedies.hook = () => ({ verdict: 'failed', because: 'reset ended' });
    const handle = await rig.client.workflow.signalWithStart('nodeQuarantine', {
      workflowId: `node/${node}`,
      taskQueue: rig.taskQueue,
      args: [{ node }],
      signal: 'faultsObserved',
      signalArgs: [{ faults: [kernelFault({ node })] }],
    });
    await serves('kcover_repairs_total{outcome="exhausted"} 1');
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'replaced the card' }] });
    await handle.result();
    expect(cluster.nodeRecords.at(-1)).toMatchObject({ ended: {}, remedy: { outcome: 'exhausted' } });
    expect(await registry.metrics()).toContain('kcover_repairs_total{outcome="exhausted"} 1\n');
  });
});
