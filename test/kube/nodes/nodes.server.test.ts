import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { V1Node } from '@kubernetes/client-node';
import { clusterUid, connectKube, type Kube } from '../../../kube/client/connection.ts';
import { editNode, readNode } from '../../../kube/nodes/nodes.ts';
import { quarantineEdit, releaseEdit } from '../../../kube/nodes/quarantine.ts';
import { askKube } from '../../../kube/client/requests.ts';
import { testServers } from '../../support/rig.ts';

const { kubeconfig } = testServers<{ kubeconfig: string; temporalAddress: string; workflowBundle: string }>();
const settings = { taint: { key: 'kcover.io/quarantine', effect: 'NoSchedule' }, cordon: true } as const;
const theirs = { key: 'example.com/maintenance', value: 'x', effect: 'NoSchedule' };

let kube: Kube;
let name: string;
let uid: string;
beforeEach(async () => {
  kube = connectKube({ kubeconfig });
  name = `edit-${randomUUID().slice(0, 8)}`;
  const text = JSON.stringify({ metadata: { name }, spec: { taints: [theirs] } });
  const node = await askKube<V1Node>(
    kube,
    { method: 'POST', path: '/api/v1/nodes', body: { contentType: 'application/json', text } },
    'create',
  );
  uid = node.metadata?.uid ?? '';
});
afterEach(async () => {
  await askKube(kube, { method: 'DELETE', path: `/api/v1/nodes/${name}` }, 'tidy up').catch(() => undefined);
  await kube.close();
});

/** Keys of taints without those of Kubernetes itself, whose controllers taint a new node. */
const keys = (node: V1Node | undefined): string[] =>
  (node?.spec?.taints ?? []).map((taint) => taint.key).filter((key) => !key.startsWith('node.kubernetes.io/'));

describe('editing a node', () => {
  it('loses nothing when eight do it at the same moment', async () => {
    const added = Array.from({ length: 8 }, (_, index) => `example.com/t${index}`);
    await Promise.all(
      added.map((key) =>
        editNode(kube, name, uid, (node) => ({
          taints: [...(node.spec?.taints ?? []), { key, effect: 'NoSchedule' }],
          annotations: { [key]: 'here' },
        })),
      ),
    );
    const node = await readNode(kube, name);
    expect(keys(node).toSorted()).toEqual([theirs.key, ...added].toSorted());
    expect(Object.keys(node?.metadata?.annotations ?? {})).toEqual(expect.arrayContaining(added));
  });

  it('quarantines and releases without a trace but for what was judged', async () => {
    const request = { incident: `node/${name}/1`, reason: 'xid-79', because: 'Xid 79' };
    const edited = await editNode(kube, name, uid, (node) => quarantineEdit(node, request, settings));
    expect(keys(edited)).toEqual([theirs.key, settings.taint.key]);
    expect(edited.spec?.unschedulable).toBe(true);
    const again = await editNode(kube, name, uid, (node) => quarantineEdit(node, request, settings));
    expect(again.spec?.taints).toEqual(expect.arrayContaining(edited.spec?.taints ?? []));

    const released = await editNode(
      kube,
      name,
      uid,
      (node) => releaseEdit(node, { ...request, judged: { bootId: 'b', sequence: 7 } }, settings).change,
    );
    expect(keys(released)).toEqual([theirs.key]);
    expect(released.spec?.unschedulable).toBeUndefined();
    expect(released.metadata?.annotations).toMatchObject({ 'kcover.io/judged': 'b/7' });
    expect(JSON.stringify(released.metadata?.annotations)).not.toContain('quarantine');
  });

  it.each([
    ['was replaced', () => editNode(kube, name, 'another-uid', () => ({ unschedulable: true }))],
    ['is gone', () => editNode(kube, `${name}-x`, uid, () => ({ unschedulable: true }))],
  ])('ends for good when the node %s', async (what, edit) => {
    await expect(edit()).rejects.toMatchObject({ code: 'node.gone', because: expect.stringContaining(what) });
    expect((await readNode(kube, name))?.spec?.unschedulable).toBeUndefined();
  });
});

it('a cluster is known by the UID of kube-system', async () => {
  expect(await clusterUid(kube)).toMatch(/^[0-9a-f-]{36}$/);
});
