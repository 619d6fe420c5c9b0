/** The controller has the rights of its account and of the chart's Role, so that a missing one fails here. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1ConfigMap, V1RoleBinding } from '@kubernetes/client-node';
import { nodeWorkflowId } from '../../../contract/ids.ts';
import { ownNamespace } from '../../../kube/permissions.ts';
import { merge, strategicMerge } from '../../../testbed/api.ts';
import { ascendResource, type ChipFault, deviceInfo, heartbeat, writeReport } from '../../../testbed/ascend.ts';
import { attachTestCluster } from '../../../testbed/attach.ts';
import { until } from '../../../testbed/until.ts';
import { render, valuesFile } from '../../chart/rendered.ts';
import { LiveController, run } from '../live-controller.ts';

const name = `npu-${run}`;
const [plugin, noded] = [`kube-system-${run}`, `mindx-dl-${run}`];
const ascend = { namespaces: [plugin, noded], debounce: '200ms' };
const at = 1_763_805_600_000;
const broken: ChipFault = { chip: 4, code: '80E01801', level: 'RestartNPU', at };
const network: ChipFault = { chip: 5, code: '81078603', level: 'PreSeparateNPU', at, isNetwork: true };

let rig: LiveController;
let uid: string;

const write = (namespace: string, body: V1ConfigMap) => writeReport(rig.api, namespace, body);
const shows = (...faults: readonly ChipFault[]) => write(plugin, deviceInfo(name, faults));
const idOf = ({ chip, code, at: since }: ChipFault, action: string) =>
  `device-plugin/${uid}/Ascend910-${chip}/${code}/${action}/${since}`;
const arrives = (id: string) => rig.awaitSignal(nodeWorkflowId(name), id);
const faults = async () =>
  (await rig.signalsOf(nodeWorkflowId(name))).filter((id) => id.startsWith(`device-plugin/${uid}/`));
const metric = (metricName: string, holds: (text: string) => boolean) =>
  until(metricName, 60_000, async () => {
    const text = await rig.metrics.getSingleMetricAsString(metricName);
    return holds(text) ? { found: text } : { missing: text };
  });
const isUnobservable = (what: string) => metric('kcover_nodes_unobservable', (text) => text.includes(`"${what}"} 1`));
const isObservable = (what: string) => metric('kcover_nodes_unobservable', (text) => !text.includes(`"${what}"}`));
const annotate = (annotations: object) => rig.api.core.patchNode({ name, body: { metadata: { annotations } } }, merge);
/** A fault that comes after everything that was shown before has been judged. */
async function awaitJudgedAfter(chip: number, ...others: readonly ChipFault[]): Promise<ChipFault> {
  const marker: ChipFault = { chip, code: '8C0A0002', level: 'RestartNPU', at: at + chip };
  await shows(...others, marker);
  await arrives(idOf(marker, 'reset-gpu'));
  return marker;
}

async function grantByChart(): Promise<void> {
  const { objects } = await render(valuesFile({ settings: { controller: { nodes: { ascend } } } }));
  const granted = objects.filter(({ metadata: { namespace = '' } = {} }) => ascend.namespaces.includes(namespace));
  expect(granted.map(({ kind }) => kind)).toEqual(['Role', 'Role', 'RoleBinding', 'RoleBinding']);
  for (const object of granted) {
    const namespace = object.metadata?.namespace ?? '';
    if (object.kind === 'Role') await rig.api.rbac.createNamespacedRole({ namespace, body: object });
    else await rig.api.rbac.createNamespacedRoleBinding({ namespace, body: object as V1RoleBinding });
  }
}

async function createNode(): Promise<string> {
  const labels = { type: 'kwok', 'testbed.kcover.io/kubelet': 'dead', nodeDEnable: 'on' };
  const node = await rig.api.core.createNode({ body: { metadata: { name, labels } } });
  const devices = { [ascendResource]: '8' };
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date() }];
  const status = { capacity: devices, allocatable: devices, conditions };
  await rig.api.core.patchNodeStatus({ name, body: { status } }, strategicMerge);
  return node.metadata?.uid ?? '';
}

beforeAll(async () => {
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const kubeconfig = await cluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name: 'kcover-controller' });
  rig = await LiveController.open({ kubeconfig, election: { enabled: false }, nodes: { ascend } });
  for (const namespace of [plugin, noded])
    await rig.api.core.createNamespace({ body: { metadata: { name: namespace } } });
  uid = await createNode();
});
afterAll(async () => {
  await rig?.api.core.deleteNode({ name });
  for (const namespace of [plugin, noded]) await rig?.api.core.deleteNamespace({ name: namespace });
  await rig?.close();
});

describe('the ConfigMaps of Ascend', () => {
  it('are read under the Role that the chart makes for their namespaces, and not without it', async () => {
    await metric('kcover_watch_breaks_total', (text) => text.includes(`what="configmaps in ${plugin}"} 1`));
    await grantByChart();
    await shows(broken, network);
    await arrives(idOf(network, 'none'));
    expect(await faults()).toEqual([idOf(broken, 'reset-gpu'), idOf(network, 'none')]);
  });

  it('show one fault while it stands, whatever is written anew', async () => {
    const before = await faults();
    // As after a restart of the plugin.
    await shows({ ...broken, at: at + 60_000 }, network);
    const marker = await awaitJudgedAfter(6, { ...broken, at: at + 60_000 }, network);
    expect(await faults()).toEqual([...before, idOf(marker, 'reset-gpu')]);
  });

  it('that no longer show a fault, or are deleted, end nothing', async () => {
    await shows();
    await rig.api.core.deleteNamespacedConfigMap({ name: `mindx-dl-deviceinfo-${name}`, namespace: plugin });
    await isUnobservable('DeviceInfoCfg');
    await shows();
    await isObservable('DeviceInfoCfg');
    expect((await rig.signalsOf(nodeWorkflowId(name))).filter((signal) => /release/i.test(signal))).toEqual([]);
  });

  it('whose CheckCode is wrong are unobservable, and no fault', async () => {
    const before = await faults();
    const map = deviceInfo(name, [broken]);
    const text = map.data?.['DeviceInfoCfg'] ?? '';
    await write(plugin, { ...map, data: { DeviceInfoCfg: text.replace('80E01801', '80E01802') } });
    await isUnobservable('DeviceInfoCfg');
    const marker = await awaitJudgedAfter(7);
    await isObservable('DeviceInfoCfg');
    expect(await faults()).toEqual([...before, idOf(marker, 'reset-gpu')]);
  });

  it('show the same fault to the next leader, and not one that a release has recorded', async () => {
    const later = { ...broken, at: at + 120_000 };
    await shows(later, network);
    await arrives(idOf(later, 'reset-gpu'));
    await rig.controller.stop();
    const before = await faults();
    await rig.startAgain('next');
    const first = await awaitJudgedAfter(1, later, network);
    expect(new Set(await faults())).toEqual(new Set([...before, idOf(first, 'reset-gpu')]));

    await rig.controller.stop();
    const sent = await faults();
    const reported = [idOf(later, 'reset-gpu'), idOf(network, 'none')];
    await annotate({ 'kcover.io/judged-state': JSON.stringify({ faults: [], allocatable: {}, reported }) });
    await rig.startAgain('after-release');
    const marker = await awaitJudgedAfter(2, later, network);
    expect(await faults()).toEqual([...sent, idOf(marker, 'reset-gpu')]);
  });
});

describe('the ConfigMap of a node that was replaced by another machine', () => {
  it('counts when it was written for the new one', async () => {
    const other = { ...broken, chip: 0 };
    await awaitJudgedAfter(3, other);
    // Times of the API server have whole seconds.
    await sleep(1100);
    await rig.api.core.deleteNode({ name });
    uid = await createNode();
    await isUnobservable('DeviceInfoCfg');
    expect(await faults()).toEqual([]);
    const marker = await awaitJudgedAfter(3, other);
    await isObservable('DeviceInfoCfg');
    expect((await faults()).toSorted()).toEqual([idOf(other, 'reset-gpu'), idOf(marker, 'reset-gpu')].toSorted());
  });
});

describe('the heartbeats of NodeD', () => {
  let beat = 1_763_805_600;
  const beats = () => write(noded, heartbeat(name, (beat += 1), 1));

  it('that end make the node unobservable, and the next one makes it observable again', async () => {
    const before = await faults();
    await beats();
    await isUnobservable('NodeD');
    // A clock that was set back is a change too.
    beat -= 3600;
    await beats();
    await isObservable('NodeD');
    await isUnobservable('NodeD');
    expect(await faults()).toEqual(before);
  });

  it('are not missed on a node without the label', async () => {
    await rig.api.core.patchNode({ name, body: { metadata: { labels: { nodeDEnable: null } } } }, merge);
    await isObservable('NodeD');
  });
});
