/** The controller has the permissions of an installation, so that a missing one fails here. */

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { jobWorkflowId, labels, nodeWorkflowId } from '../../contract/ids.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { readLokiCursors, storeLokiCursor } from '../../kube/loki-cursors.ts';
import { lokiConfigMap, ownNamespace } from '../../kube/permissions.ts';
import { type AttachedTestCluster, attachTestCluster } from '../../testbed/attach.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, placeOf, type RunningJob } from '../../testbed/jobs.ts';
import { until } from '../../testbed/until.ts';
import { type LokiServer, startLokiServer } from '../support/loki-server.ts';
import { LiveController, run } from './live-controller.ts';

const query = `kernel-${run}`;
const podQuery = `pods-${run}`;
const xid = '[ 4711.000042] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.';
const isFault = /^kernel\/loki\/[0-9a-f]{32}$/;

let cluster: AttachedTestCluster;
let kube: Kube;
let loki: LokiServer;
let rig: LiveController;
let node: string;
const created: RunningJob[] = [];

beforeAll(async () => {
  cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const kubeconfig = await cluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name: 'kcover-controller' });
  kube = connectKube({ kubeconfig });
  loki = await startLokiServer({ tenant: 'cluster-1' });
  rig = await LiveController.open({
    kubeconfig,
    election: { enabled: false },
    loki: {
      url: loki.url,
      tenant: 'cluster-1',
      interval: '200ms',
      delay: '0s',
      queries: [{ name: query, query: '{job="kernel"}' }],
      podQueries: [{ name: podQuery, query: '{job="pods"}', restart: true, trusted: true }],
    },
  });
  node = (await rig.agentOf(0)).node;
});
afterAll(async () => {
  await Promise.all(
    created.map((job) =>
      rig.api.custom
        .deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' })
        .catch(() => undefined),
    ),
  );
  await rig?.close();
  await loki?.close();
  await kube?.close();
});

const push = (line: string, name = node) =>
  loki.push({ at: BigInt(Date.now()) * 1_000_000n, line, stream: { job: 'kernel', k8s_node_name: name } });

const faultsOf = async (name: string) =>
  (await rig.signalsOf(nodeWorkflowId(name))).filter((signal) => isFault.test(signal));

const pushOfPod = (namespace: string, name: string) =>
  loki.push({
    at: BigInt(Date.now()) * 1_000_000n,
    line: 'ncclInternalError: Internal check failed.',
    stream: { job: 'pods', k8s_namespace_name: namespace, k8s_pod_name: name },
  });

const positionStored = (holds: (text: string) => boolean) =>
  until('the position in Loki is stored', 30_000, async () => {
    const text = (await readLokiCursors(kube, ownNamespace))[query];
    return text !== undefined && holds(text) ? { found: text } : { missing: text ?? 'nothing' };
  });

describe('a kernel line in Loki', () => {
  it('reaches the workflow of its node, once, also after the controller has started again', async () => {
    await positionStored(() => true);
    push('usb 1-1: new high-speed USB device');
    push(xid);
    await rig.awaitSignal(nodeWorkflowId(node), isFault);
    const [id = ''] = await faultsOf(node);
    await positionStored((text) => text.includes(id));

    await rig.controller.stop();
    push('NVRM: Xid (PCI:0000:9b:00): 48, DBE (double bit error)');
    await rig.startAgain('second');
    const asked = loki.asked.length;
    await until('the second controller has asked several times', 30_000, async () =>
      loki.asked.length > asked + 3 && (await faultsOf(node)).length > 1 ? { found: true } : { missing: 'not yet' },
    );
    expect(await faultsOf(node)).toEqual([id, expect.stringMatching(isFault)]);
  });

  it('starts no workflow for a node that Kubernetes does not have', async () => {
    const unknown = `gone-${randomUUID().slice(0, 8)}`;
    push(xid, unknown);
    await until('the line is counted', 30_000, async () =>
      (await rig.metrics.getSingleMetricAsString('kcover_loki_faults_total')).includes('result="unknown-node"} 1')
        ? { found: true }
        : { missing: 'not yet' },
    );
    expect(await rig.signalsOf(nodeWorkflowId(unknown))).toEqual([]);
  });
});

describe('a line of a pod in Loki', () => {
  it('reaches the workflow of its job once, and that of no job which is not opted in', async () => {
    const start = async (name: string, optedIn: boolean) => {
      const manifest = pytorchJob({
        name: `${name}-${run}`,
        workers: 1,
        gpus: 0,
        ...(optedIn && { labels: { [labels.cascadingRecovery]: 'true' } }),
      });
      const job = await createJob(rig.api, manifest);
      created.push(job);
      const [first] = await awaitRunning(rig.api, job);
      return { job, pod: { name: first?.metadata?.name ?? '', uid: first?.metadata?.uid ?? '' } };
    };
    const [other, own] = [await start('loki-other', false), await start('loki-own', true)];
    pushOfPod(other.job.namespace, other.pod.name);
    pushOfPod('kube-system', own.pod.name);
    const id = `pod-log/${podQuery}/${own.pod.uid}`;
    await until('the fault is sent', 60_000, async () => {
      pushOfPod(own.job.namespace, own.pod.name);
      const signals = await rig.signalsOf(jobWorkflowId(own.job));
      return signals.includes(id) ? { found: true } : { missing: JSON.stringify(signals) };
    });
    const asked = loki.asked.length;
    await until('Loki was asked several times more', 30_000, async () =>
      loki.asked.length > asked + 6 ? { found: true } : { missing: 'not yet' },
    );
    expect((await rig.signalsOf(jobWorkflowId(own.job))).filter((signal) => signal.startsWith('pod-log/'))).toEqual([
      id,
    ]);
    expect(await rig.signalsOf(jobWorkflowId(other.job))).toEqual([]);
    expect(await rig.metrics.getSingleMetricAsString('kcover_loki_faults_total')).toContain('result="not-opted-in"} 1');
  });
});

describe('the position in Loki', () => {
  afterEach(() => rig.api.core.deleteNamespacedConfigMap({ name: lokiConfigMap, namespace: ownNamespace }));

  it('is kept for each query, also when two are the first to store theirs', async () => {
    await rig.controller.stop();
    await rig.api.core.deleteNamespacedConfigMap({ name: lokiConfigMap, namespace: ownNamespace });
    expect(await readLokiCursors(kube, ownNamespace)).toEqual({});
    await Promise.all(['a', 'b'].map((name) => storeLokiCursor(kube, ownNamespace, name, `1 ${name}`)));
    await storeLokiCursor(kube, ownNamespace, 'a', '2 a');
    expect(await readLokiCursors(kube, ownNamespace)).toEqual({ a: '2 a', b: '1 b' });
  });
});
