/** The status file of a node, from the Node object over the real intake to the file that the agent writes. */

import { TypedSearchAttributes } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type RunningAgent, startAgent } from '../../agent/index.ts';
import { nodeWorkflowId, quarantineId, workflowTypes } from '../../contract/ids.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { editNode, readNode } from '../../kube/nodes/nodes.ts';
import { quarantineEdit, releaseEdit } from '../../kube/nodes/quarantine.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { until } from '../../testbed/until.ts';
import { LiveController, run } from './live-controller.ts';

const settings = { taint: { key: 'kcover.io/quarantine', effect: 'NoSchedule' }, cordon: false } as const;

let rig: LiveController;
let kube: Kube;
let agent: RunningAgent;
let root = '';
let node = '';
let uid = '';
let incident = '';

beforeAll(async () => {
  rig = await LiveController.open();
  kube = connectKube({ kubeconfig: attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '').kubernetes.kubeconfig });
  ({ node } = await rig.agentOf(2));
  uid = (await readNode(kube, node))?.metadata?.uid ?? '';
  incident = quarantineId(node, Date.parse('2026-11-21T09:15:12.000Z'));
  root = await mkdtemp(join(tmpdir(), 'kcover-status-'));
  await writeFile(join(root, 'token'), await rig.tokenOf(2));
  agent = await startAgent({
    settings: agentSettings.parse({
      controller: {
        url: `https://127.0.0.1:${rig.controller.address.port}`,
        caFile: rig.certificateFile,
        tokenFile: join(root, 'token'),
      },
      heartbeat: '200ms',
      spool: { directory: join(root, 'spool') },
      statusFile: { directory: join(root, 'status') },
    }),
    node,
    hostRoot: root,
    version: '0.1.0',
    log: pino({ level: 'silent' }),
  });
});
afterAll(async () => {
  await agent?.stop();
  if (uid) await editNode(kube, node, uid, (now) => releaseEdit(now, { incident }, settings).change);
  await rig?.temporal.workflow
    .getHandle(nodeWorkflowId(node))
    .terminate('end of the test')
    .catch(() => undefined);
  await rig?.close();
  await kube?.close();
  await rm(root, { recursive: true, force: true });
});

const says = (state: string): Promise<Record<string, unknown>> =>
  until(`the status file says ${state}`, 60_000, async () => {
    const text = await readFile(join(root, 'status/node.json'), 'utf8').catch(() => '{}');
    const content = JSON.parse(text) as Record<string, unknown>;
    return content['state'] === state ? { found: content } : { missing: text };
  });

describe('the status file of a node', () => {
  it('says healthy, then quarantined and why, what its workflow does, and healthy after the release', async () => {
    expect(await says('healthy')).not.toHaveProperty('reason');
    const because = `xid/79 on ${node}: what a tenant wrote`;
    await editNode(kube, node, uid, (now) => quarantineEdit(now, { incident, reason: 'xid-79', because }, settings));
    const quarantined = { since: '2026-11-21T09:15:12.000Z', reason: 'xid-79', incident };
    const content = await says('quarantined');
    expect(content).toMatchObject({ schema: 1, node, ...quarantined });
    expect(JSON.stringify(content)).not.toContain('tenant');

    // No worker runs, so that the phase stays as it is.
    await rig.temporal.workflow.start(workflowTypes.nodeQuarantine, {
      workflowId: nodeWorkflowId(node),
      taskQueue: `controller-test-${run}`,
      args: [{ node }],
      typedSearchAttributes: new TypedSearchAttributes(
        searchAttributePairs({ KcoverNode: [node], KcoverPhase: 'remediating' }),
      ),
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    });
    expect(await says('remediating')).toMatchObject(quarantined);

    await editNode(kube, node, uid, (now) => releaseEdit(now, { incident }, settings).change);
    expect(await says('healthy')).not.toHaveProperty('incident');
  });
});
