import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { pino } from 'pino';
import { preflightActivities } from '../../activities/preflight.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { kernelFault, settings } from '../support/builders.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

let cluster: LiveCluster;
const started: string[] = [];
beforeAll(async () => {
  cluster = await liveCluster();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((node) => handleOf(node).terminate('tidy up')));
});
afterAll(() => cluster.close());

const handleOf = (node: string) => cluster.client.workflow.getHandle(nodeWorkflowId(node));
const faultOf = (node: string): Fault => kernelFault({ id: `preflight/${node}`, source: 'preflight', node });
/** Names of nodes that have no workflow yet. */
function newNodes(count: number): string[] {
  const nodes = Array.from({ length: count }, () => `gpu-${randomUUID()}`);
  started.push(...nodes);
  return nodes;
}

/** Notifies these nodes, whose workflows no worker runs; every call of Temporal's client passes `on`. */
function notifyNodes(nodes: readonly string[], on: WorkflowClientInterceptor = {}) {
  const client = new Client({ connection: cluster.client.connection, interceptors: { workflow: [on] } });
  const temporal = { taskQueue: `nobody-${randomUUID()}` };
  const activities = preflightActivities({
    kube: cluster.kube,
    settings: settings({ temporal }),
    temporal: () => client,
    log: pino({ level: 'silent' }),
  });
  return activities.notifyNodes({ faults: nodes.map(faultOf) });
}

describe('notifying the nodes that a preflight found', () => {
  it('reaches all of them at the same moment: each is signalled before any has answered', async () => {
    const nodes = newNodes(40);
    const asked = Promise.withResolvers<void>();
    let left = nodes.length;
    const { unnotified } = await notifyNodes(nodes, {
      async signalWithStart(call, next) {
        left -= 1;
        if (left === 0) asked.resolve();
        await asked.promise;
        return next(call);
      },
    });
    expect(unnotified).toEqual([]);
    const seen = await Promise.all(nodes.map((node) => handleOf(node).describe()));
    expect(new Set(seen.map(({ type, status }) => `${type} ${status.name}`))).toEqual(
      new Set(['nodeQuarantine RUNNING']),
    );
  });

  it('names the one that can have no workflow and says why, and notifies the others', async () => {
    const [first = '', last = ''] = newNodes(2);
    const refused = 'x'.repeat(2000);
    const { unnotified, because } = await notifyNodes([first, refused, last]);
    expect(unnotified).toEqual([`preflight/${refused}`]);
    expect(because).toMatch(/cannot be part of the name/);
    for (const node of [first, last]) expect((await handleOf(node).describe()).status.name).toBe('RUNNING');
  });
});
