/** The chart and the images on real kubelets, from the first install to what remains after an uninstall. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CoreV1Event, V1Node } from '@kubernetes/client-node';
import { annotations, eventReasons, quarantineTaintKey } from '../../contract/ids.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { merge } from '../../testbed/api.ts';
import { obtainHelm } from '../../testbed/chart.ts';
import { obtainImages } from '../../testbed/image/images.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import { until } from '../../testbed/until.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { kcover } from '../cli/kcover.ts';
import { type ChartRole, InstalledChart, objectsOfRelease } from './installed-chart.ts';

const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
const roles = ['agent', 'controller', 'worker'] as const;
const xid = (code: number, text: string): string =>
  `NVRM: Xid (PCI:0000:5d:00): ${code}, pid=4242, name=python, ${text}`;

let cluster: TestCluster;
let kube: Kube;
let chart: InstalledChart;
let gpu: RealNode;
let plain: RealNode;
let before: readonly string[];

beforeAll(async () => {
  const images = await obtainImages(onProgress);
  const helm = await obtainHelm(onProgress);
  cluster = await startTestCluster({ nodes: 0, realNodes: 2, realKernelLog: true, onProgress });
  kube = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig });
  [gpu, plain] = cluster.realNodes as [RealNode, RealNode];
  await Promise.all([gpu.importImage(images.agent), plain.importImage(images.kcover)]);
  // Controllers and workers are not scheduled on nodes with GPUs.
  await cluster.api.core.patchNode(
    { name: plain.name, body: { metadata: { labels: { 'nvidia.com/gpu.present': null } } } },
    merge,
  );
  await cluster.api.core.createNamespace({
    body: { metadata: { name: ownNamespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
  });
  chart = new InstalledChart(cluster, helm, {
    image: { registry: 'localhost', pullPolicy: 'Never' },
    temporal: { address: cluster.temporal.address, namespace: cluster.temporal.namespace },
    // Kernel log lines that a test writes come from user space.
    settings: { worker: { mode: 'act' }, agent: { kernelLog: { userSpace: true } } },
  });
  before = await until('the objects of an empty namespace', 30_000, async () => {
    const objects = await objectsOfRelease(kube);
    return objects.length === 2 ? { found: objects } : { missing: objects.join(', ') };
  });
  await chart.install();
}, 1_800_000);
afterAll(async () => {
  await kube?.close();
  await cluster?.stop();
});

const nodeNow = (): Promise<V1Node> => cluster.api.core.readNode({ name: gpu.name });
const taintsOn = ({ spec }: V1Node): readonly string[] => (spec?.taints ?? []).map(({ key }) => key);
const annotationsOn = ({ metadata }: V1Node): readonly string[] =>
  Object.keys({ ...metadata?.annotations, ...metadata?.labels }).filter((key) => key.includes('kcover.io/'));

const ask = async (...args: readonly string[]): Promise<string> => {
  const to = {
    KUBECONFIG: cluster.kubernetes.kubeconfig,
    TEMPORAL_ADDRESS: cluster.temporal.address,
    TEMPORAL_NAMESPACE: cluster.temporal.namespace,
  };
  const { code, stdout, stderr } = await kcover(args, '', to);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};

/** Output of `kcover doctor` once no check fails. The leader is elected, and its Service is programmed on every node, only after the pods are ready. */
const doctorIn = (role: ChartRole): Promise<string> =>
  until('a doctor that finds no failure', 60_000, async () => {
    const host = role === 'agent' ? ['--host-root', '/host'] : [];
    const args = ['--role', role, '--config', '/etc/kcover/settings/settings.yaml', ...host, '--output', 'json'];
    return { found: await chart.kcoverIn(role, 'doctor', ...args) };
  });

const eventWith = (reason: string, text: string): Promise<CoreV1Event> =>
  until(`an Event ${reason} with ${text}`, 60_000, async () => {
    const { items } = await cluster.api.core.listEventForAllNamespaces();
    const seen = items.filter(({ involvedObject }) => involvedObject.name === gpu.name);
    const found = seen.find((event) => event.reason === reason && event.message?.includes(text));
    return found ? { found } : { missing: seen.map((event) => `${event.reason}: ${event.message}`).join('\n') };
  });

const incidentOn = (): Promise<string> =>
  until('a quarantine', 60_000, async () => {
    const node = await nodeNow();
    const incident = node.metadata?.annotations?.[annotations.quarantineIncident];
    return incident !== undefined && taintsOn(node).includes(quarantineTaintKey)
      ? { found: incident }
      : { missing: JSON.stringify(node.metadata?.annotations) };
  });

/** Waits until `kcover node list` shows the incident. */
const listedAs = (incident: string): Promise<string> =>
  until(`${incident} in the list of nodes`, 60_000, async () => {
    const rows = JSON.parse(await ask('node', 'list', '--output', 'json')) as readonly Record<string, string>[];
    const said = JSON.stringify(rows);
    return rows.some(
      (row) => row['node'] === gpu.name && row['phase'] === 'quarantined' && row['incident'] === incident,
    )
      ? { found: said }
      : { missing: said };
  });

const uidsOf = async (role: ChartRole): Promise<readonly (string | undefined)[]> =>
  (await chart.pods(role)).map(({ metadata }) => metadata?.uid);

describe('the chart on real kubelets', () => {
  it('runs every role where it belongs, and none of them has been started again', async () => {
    const seen = await Promise.all(
      roles.map(async (role) =>
        (await chart.pods(role)).map(({ spec, status }) => [
          role,
          spec?.nodeName,
          status?.containerStatuses?.map(({ ready, restartCount }) => [ready, restartCount]),
        ]),
      ),
    );
    const well = [[true, 0]];
    expect(seen.flat()).toEqual([
      ['agent', gpu.name, well],
      ...['controller', 'controller', 'worker', 'worker'].map((role) => [role, plain.name, well]),
    ]);
  });

  it.each(roles)(
    'passes every check of the doctor in the pod of the %s, except for warnings about a Temporal server without security',
    async (role) => {
      const said = await doctorIn(role);
      const findings = JSON.parse(said) as readonly { readonly check: string; readonly result: string }[];
      expect(findings.length).toBeGreaterThan(3);
      // Warnings about plain text and the namespace `default`, and about objects that the role may not read.
      const expected = ['temporal access', 'temporal namespace', 'leader', `objects of the ${role}`];
      expect(
        findings.filter(({ check, result }) => result === 'failed' || (result === 'warn' && !expected.includes(check))),
      ).toEqual([]);
    },
  );

  it('passes helm test, whose pods are gone afterwards', async () => {
    await chart.test();
    expect((await objectsOfRelease(kube)).filter((name) => name.includes('-test-'))).toEqual([]);
  });

  it('reports kernel lines that were written while the pod of the agent was replaced', async () => {
    gpu.kernelLog(xid(31, 'Ch 00000001, MMU Fault'));
    await eventWith(eventReasons.faultObserved, 'xid/31');
    const [uid] = await uidsOf('agent');
    const [pod] = await chart.pods('agent');
    await cluster.api.core.deleteNamespacedPod({
      name: pod?.metadata?.name ?? '',
      namespace: pod?.metadata?.namespace ?? '',
    });
    gpu.kernelLog(xid(43, 'Ch 00000002, stopped processing'));
    await eventWith(eventReasons.faultObserved, 'xid/43');
    expect(await uidsOf('agent')).not.toContain(uid);
  });

  it('quarantines a node for a line in its kernel log, and writes an Event', async () => {
    gpu.kernelLog(xid(79, 'GPU has fallen off the bus.'));
    const incident = await incidentOn();
    expect(await eventWith(eventReasons.quarantined, 'xid/79')).toMatchObject({ type: 'Warning' });
    await listedAs(incident);
  });

  it('keeps an incident over an upgrade and a rollback that replace every pod, and receives the next fault', async () => {
    const incident = await incidentOn();
    const replaced = async (change: () => Promise<void>): Promise<void> => {
      const old = (await Promise.all(roles.map(uidsOf))).flat();
      await change();
      const now = (await Promise.all(roles.map(uidsOf))).flat();
      expect([now.length, now.filter((uid) => old.includes(uid))]).toEqual([old.length, []]);
      expect(await incidentOn()).toBe(incident);
      await listedAs(incident);
    };
    await replaced(() => chart.upgrade(...roles.map((role) => `${role}.podAnnotations.upgraded=yes`)));
    await replaced(() => chart.rollback(1));
    gpu.kernelLog(xid(48, 'DBE (double bit error)'));
    await eventWith(eventReasons.faultObserved, 'xid/48');
  });
});

describe('an uninstall', () => {
  it('leaves neither a mark on a node nor an object in the cluster, but the namespace with the Lease and what the cluster was paused by', async () => {
    const because = ['--reason', 'kcover is uninstalled'];
    await ask('pause', ...because);
    await ask('node', 'release', '--all', ...because);
    expect(taintsOn(await nodeNow())).toEqual([]);
    await chart.uninstall();
    await ask('node', 'release', '--all', '--owner-only', ...because);

    const node = await nodeNow();
    expect({ taints: taintsOn(node), annotations: annotationsOn(node) }).toEqual({ taints: [], annotations: [] });
    const expected = [...before, 'configmaps/kcover-pause', 'leases/kcover'].toSorted();
    await until('nothing else of kcover in the cluster', 120_000, async () => {
      const left = await objectsOfRelease(kube);
      return JSON.stringify(left) === JSON.stringify(expected) ? { found: left } : { missing: left.join(', ') };
    });
  });
});
