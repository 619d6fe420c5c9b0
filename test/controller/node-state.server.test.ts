import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { merge, strategicMerge } from '../../testbed/api.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { until } from '../../testbed/until.ts';
import { LiveController, run } from './live-controller.ts';

const name = `gpu-conditions-${run}`;
const gpu = 'nvidia.com/gpu';
const since = '2026-11-22T10:00:00Z';
const own = { type: 'example.com/GPUsHealthy', bad: 'False', action: 'reboot' };
const quick = {
  conditions: { debounce: '200ms', off: ['XfsShutdown'], own: [own] },
  allocatable: { debounce: '200ms' },
};

let rig: LiveController;
let uid: string;

const condition = (type: string, status: string, reason = 'Test', transition = since) => ({
  type,
  status,
  reason,
  message: `${type} in a test`,
  lastTransitionTime: transition,
});

/** As a kubelet or an agent writes it. */
const write = (status: object) => rig.api.core.patchNodeStatus({ name, body: { status } }, strategicMerge);
const conditions = (...some: readonly object[]) => write({ conditions: some });
const offers = (allocatable: number) => write({ allocatable: { [gpu]: String(allocatable) } });

const faults = async () =>
  (await rig.signalsOf(nodeWorkflowId(name))).filter((id) => /^(condition|allocatable)\//.test(id));
const arrives = (id: RegExp) => rig.awaitSignal(nodeWorkflowId(name), id);
const idOf = (type: string, transition = since) => `condition/${uid}/${type}/${transition}`;
const metric = (metricName: string) => rig.metrics.getSingleMetricAsString(metricName);

beforeAll(async () => {
  rig = await LiveController.open({ nodes: quick });
  const labels = { type: 'kwok', 'testbed.kcover.io/kubelet': 'dead' };
  const node = await rig.api.core.createNode({ body: { metadata: { name, labels } } });
  uid = node.metadata?.uid ?? '';
  await write({
    capacity: { [gpu]: '8' },
    allocatable: { [gpu]: '8' },
    nodeInfo: { bootID: 'b0000001', systemUUID: 's' },
    conditions: [condition('Ready', 'True'), condition('AcceleratedHardwareReady', 'True')],
  });
});
afterAll(async () => {
  await rig?.api.core.deleteNode({ name });
  await rig?.close();
});

describe('what others write on a node', () => {
  it('is sent to the workflow of the node once it has stood for a while, each transition once', async () => {
    await conditions(condition('AcceleratedHardwareReady', 'False', 'NvidiaXID79Error'));
    const id = `${idOf('AcceleratedHardwareReady')}/xid/79`;
    await rig.awaitSignal(nodeWorkflowId(name), id);
    // Heartbeats and messages that grow are not another fault.
    await conditions({ ...condition('AcceleratedHardwareReady', 'False', 'NvidiaXID79Error'), message: 'longer' });
    await conditions(condition('KernelDeadlock', 'True', 'DockerHung'));
    await rig.awaitSignal(nodeWorkflowId(name), idOf('KernelDeadlock'));
    expect(await faults()).toEqual([id, idOf('KernelDeadlock')]);
    const counted = 'kcover_faults_total{about="node",code="condition/KernelDeadlock"} 1';
    await until('the fault is counted', 10_000, async () => {
      const text = await metric('kcover_faults_total');
      return text.includes(counted) ? { found: true } : { missing: text };
    });
  });

  it('is another fault after it was fine, which by itself ends nothing', async () => {
    await conditions(condition('KernelDeadlock', 'False', 'KernelHasNoDeadlock', '2026-11-22T11:00:00Z'));
    await conditions(condition('KernelDeadlock', 'True', 'DockerHung', '2026-11-22T12:00:00Z'));
    await rig.awaitSignal(nodeWorkflowId(name), idOf('KernelDeadlock', '2026-11-22T12:00:00Z'));
    expect((await rig.signalsOf(nodeWorkflowId(name))).filter((signal) => /release/i.test(signal))).toEqual([]);
  });

  it('is unobservable and no fault while it is Unknown, and again when the condition is gone', async () => {
    const before = await faults();
    await conditions(condition('NTPProblem', 'Unknown', 'NTPIsUp'));
    const unobservable = (count: RegExp) =>
      until('the metric', 30_000, async () => {
        const text = await metric('kcover_nodes_unobservable');
        return count.test(text) ? { found: true } : { missing: text };
      });
    await unobservable(/what="NTPProblem"\} 1/);
    await conditions(condition('NTPProblem', 'False', 'NTPIsUp'));
    await unobservable(/^(?![^]*NTPProblem)/);
    await conditions({ type: 'NTPProblem', $patch: 'delete' });
    await unobservable(/what="NTPProblem"\} 1/);
    expect(await faults()).toEqual(before);
  });

  it('is read by the rows of the site, and not where a row is switched off', async () => {
    const before = await faults();
    await conditions(condition('XfsShutdown', 'True'));
    await conditions(condition(own.type, 'False'));
    await rig.awaitSignal(nodeWorkflowId(name), idOf(own.type));
    expect(await faults()).toEqual([...before, idOf(own.type)]);
  });

  it('counts devices: fewer than ever before is a fault, none is unobservable', async () => {
    await offers(7);
    await arrives(new RegExp(`^allocatable/${uid}/${gpu}/7-of-8/b0000001/1$`));
    const before = await faults();
    await offers(0);
    await until('the metric', 30_000, async () => {
      const text = await metric('kcover_nodes_unobservable');
      return text.includes(`what="${gpu}"} 1`) ? { found: true } : { missing: text };
    });
    expect(await faults()).toEqual(before);
    await offers(7);
  });

  it('names the device of a pod that its kubelet reports as unhealthy', async () => {
    const job = await createJob(rig.api, pytorchJob({ name: `devices-${run}`, workers: 0, gpus: 1 }));
    const [pod] = await awaitRunning(rig.api, job);
    const { name: podName = '', namespace = '', uid: podUid = '' } = pod?.metadata ?? {};
    const container = pod?.status?.containerStatuses?.[0]?.name ?? '';
    const resources = [
      { resourceID: 'GPU-5d00', health: 'Unhealthy' },
      { resourceID: 'GPU-9b00', health: 'Unknown' },
    ];
    const status = {
      containerStatuses: [{ name: container, allocatedResourcesStatus: [{ name: gpu, resources }] }],
    };
    await rig.api.core.patchNamespacedPodStatus({ name: podName, namespace, body: { status } }, strategicMerge);
    const all = await rig.awaitSignal(
      nodeWorkflowId(pod?.spec?.nodeName ?? ''),
      `allocatable/pod/${podUid}/GPU-5d00/unhealthy-device/reset-gpu`,
    );
    expect(all.filter((id) => id.startsWith(`allocatable/pod/${podUid}`))).toHaveLength(1);
  });

  it('has the same ids after a restart of the controller, so that nothing is doubled, and what stood at a release does not count', async () => {
    const before = new Set(await faults());
    await rig.controller.stop();
    await rig.startAgain('conditions-again');
    await conditions(condition('ReadonlyFilesystem', 'True'));
    await rig.awaitSignal(nodeWorkflowId(name), idOf('ReadonlyFilesystem'));
    expect(new Set(await faults())).toEqual(new Set([...before, idOf('ReadonlyFilesystem')]));

    await rig.controller.stop();
    const sent = await faults();
    const judged = {
      faults: [...before, idOf('ReadonlyFilesystem')].map((id) => id.slice(`condition/${uid}/`.length)),
    };
    const annotation = JSON.stringify({ ...judged, allocatable: { [gpu]: 7 } });
    await rig.api.core.patchNode(
      { name, body: { metadata: { annotations: { 'kcover.io/judged-state': annotation } } } },
      merge,
    );
    await rig.startAgain('conditions-after-release');
    await conditions(condition('FrequentKubeletRestart', 'True'));
    await rig.awaitSignal(nodeWorkflowId(name), idOf('FrequentKubeletRestart'));
    expect(await faults()).toEqual([...sent, idOf('FrequentKubeletRestart')]);
  });
});
