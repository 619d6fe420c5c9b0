/** Real kubelets and real containers, on which the other tests of this tier build. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { V1Node } from '@kubernetes/client-node';
import { isReady } from '../../testbed/nodes.ts';
import { type DebianImage, debianImage } from '../../testbed/parts/images.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import { until } from '../../testbed/until.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { deletePod, execIn, logWith, podAs, runPod } from './real-pod.ts';
import { noTraces, tracesOf } from './traces.ts';

const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);

let cluster: TestCluster;
let image: DebianImage;
let one: RealNode;
let other: RealNode;

beforeAll(async () => {
  image = await debianImage({ packages: ['busybox', 'ca-certificates', 'curl'] }, onProgress);
  cluster = await startTestCluster({ nodes: 1, realNodes: 2, onProgress });
  [one, other] = cluster.realNodes as [RealNode, RealNode];
  await Promise.all(cluster.realNodes.map((node) => node.importImage(image.archive)));
}, 1_800_000);
afterAll(() => cluster?.stop());

const nodeOf = ({ name }: RealNode): Promise<V1Node> => cluster.api.core.readNode({ name });

const allocatable = (node: RealNode, gpus: string): Promise<string> =>
  until(`${gpus} GPUs of ${node.name}`, 60_000, async () => {
    const seen = (await nodeOf(node)).status?.allocatable?.['nvidia.com/gpu'] ?? 'none';
    return seen === gpus ? { found: seen } : { missing: `${seen} are allocatable` };
  });

const readiness = (node: RealNode, ready: boolean): Promise<V1Node> =>
  until(`${node.name} ${ready ? 'Ready' : 'not Ready'}`, 180_000, async () => {
    const seen = await nodeOf(node);
    return isReady(seen) === ready
      ? { found: seen }
      : { missing: JSON.stringify(seen.status?.conditions?.find(({ type }) => type === 'Ready')) };
  });

/** As clients in a pod do. */
const whoAmI = `cd /var/run/secrets/kubernetes.io/serviceaccount && curl -sS --cacert ca.crt -H "Authorization: Bearer $(cat token)" \\
  -H 'Content-Type: application/json' -d '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}' \\
  https://$KUBERNETES_SERVICE_HOST/apis/authentication.k8s.io/v1/selfsubjectreviews`;

describe('real nodes', () => {
  it('are Ready with containerd 2, beside a simulated node, each on a machine of its own', async () => {
    const { items } = await cluster.api.core.listNode();
    expect(items.map(isReady)).toEqual([true, true, true]);
    const infos = (await Promise.all(cluster.realNodes.map(nodeOf))).map(({ status }) => status?.nodeInfo);
    expect(infos.map((info) => info?.containerRuntimeVersion)).toEqual([
      expect.stringMatching(/^containerd:\/\/v?2\./),
      expect.stringMatching(/^containerd:\/\/v?2\./),
    ]);
    expect(new Set(infos.map((info) => info?.bootID)).size).toBe(2);
    expect(new Set(infos.map((info) => info?.machineID)).size).toBe(2);
  });

  it('run a pod whose log and shell are reached through the API server', async () => {
    await runPod(cluster, { name: 'talker', node: one.name, image: image.name, script: 'echo begun; sleep 600' });
    expect(await logWith(cluster, 'talker', 'begun')).toBe('begun\n');
    expect(await execIn(cluster, 'talker', 'sh', '-c', 'echo "from $HOSTNAME"')).toBe('from talker\n');
    await deletePod(cluster, 'talker', 0);
  });

  it('let pods reach the API server by its Service, as their own account, and each other across nodes, by address and by name', async () => {
    const script = 'mkdir /www && echo hello >/www/index.html && exec busybox httpd -f -p 8080 -h /www';
    const { status } = await runPod(cluster, {
      name: 'server',
      node: one.name,
      image: image.name,
      script,
      labels: { of: 'hello' },
    });
    const spec = { selector: { of: 'hello' }, ports: [{ port: 80, targetPort: 8080 }] };
    await cluster.api.core.createNamespacedService({
      namespace: 'default',
      body: { metadata: { name: 'hello' }, spec },
    });
    await runPod(cluster, { name: 'client', node: other.name, image: image.name, script: 'sleep 600' });
    const ask = (...args: string[]): Promise<string> =>
      execIn(cluster, 'client', 'curl', '-sS', '--retry', '10', '--retry-all-errors', '--retry-delay', '1', ...args);

    expect(await execIn(cluster, 'client', 'sh', '-c', whoAmI)).toContain('system:serviceaccount:default:default');
    expect(await ask(`http://${status?.podIP}:8080/`)).toContain('hello\n');
    expect(await ask('http://hello/')).toContain('hello\n');
    await Promise.all(['server', 'client'].map((name) => deletePod(cluster, name, 0)));
  });

  it('send SIGTERM to a container, and its last words are in its log', async () => {
    const script = 'trap "echo last words; sleep 3; exit 0" TERM; echo begun; while :; do sleep 0.1; done';
    await runPod(cluster, { name: 'dying', node: one.name, image: image.name, script });
    await logWith(cluster, 'dying', 'begun');
    await deletePod(cluster, 'dying');
    expect(await logWith(cluster, 'dying', 'last words')).toBe('begun\nlast words\n');
  });

  it('offer as many GPUs as their device plugin calls healthy', async () => {
    await allocatable(one, '8');
    one.devices.setHealth(3, 'Unhealthy');
    await allocatable(one, '7');
    await one.devices.plugin.kill('SIGKILL');
    await allocatable(one, '0');
    one.devices.setHealth(3, 'Healthy');
    await one.devices.plugin.start();
    expect(await allocatable(one, '8')).toBe('8');
    expect(await allocatable(other, '8')).toBe('8');
  });

  it('give a pod the devices that it asks for', async () => {
    const container = { resources: { limits: { 'nvidia.com/gpu': '2' } } };
    await runPod(cluster, {
      name: 'trainer',
      node: one.name,
      image: image.name,
      script: 'echo $NVIDIA_VISIBLE_DEVICES; sleep 600',
      container,
    });
    expect(await logWith(cluster, 'trainer', 'GPU')).toMatch(/^GPU-real-0-\d,GPU-real-0-\d\n$/);
    await deletePod(cluster, 'trainer', 0);
  });

  it('show containers a kernel log of their own, to which a fault is written', async () => {
    const volumes = [{ name: 'log', hostPath: { path: '/dev/kmsg', type: 'CharDevice' } }];
    const volumeMounts = [{ name: 'log', mountPath: '/host/kmsg', readOnly: true }];
    const spec = {
      name: 'reader',
      image: image.name,
      script: 'tail -f /host/kmsg',
      container: { volumeMounts },
      spec: { volumes },
    };
    await runPod(cluster, { ...spec, node: one.name });
    one.kernelLog('NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.');
    expect(await logWith(cluster, 'reader', 'Xid')).toContain('fallen off the bus');
    await deletePod(cluster, 'reader', 0);
  });

  it('have a file system for the state of the agent, which can be full alone', async () => {
    const write = (): Promise<string> => one.run('cp', '--verbose', '/etc/hostname', '/var/lib/kcover/file');
    await one.fillState();
    await expect(write()).rejects.toThrow('No space left on device');
    await one.freeState();
    expect(await write()).toContain('/var/lib/kcover/file');
  });

  it('turn NotReady without a kubelet while their containers go on, and come back', async () => {
    await runPod(cluster, {
      name: 'survivor',
      node: one.name,
      image: image.name,
      script: 'while :; do date +%s; sleep 1; done',
    });
    await one.kubelet.kill('SIGKILL');
    await readiness(one, false);
    expect(await one.run('ps', 'ax')).toContain('date +%s');
    await one.kubelet.start();
    await readiness(one, true);
    expect((await podAs(cluster, 'survivor', 'Running')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  it('turn NotReady without a container runtime, and come back', async () => {
    await one.containerd.kill('SIGKILL');
    await readiness(one, false);
    await one.containerd.start();
    await readiness(one, true);
    expect(await execIn(cluster, 'survivor', 'echo', 'here')).toBe('here\n');
  });

  it('turn NotReady when their network is cut, and come back', async () => {
    await other.cutNetwork();
    await readiness(other, false);
    await other.restoreNetwork();
    expect(isReady(await readiness(other, true))).toBe(true);
  });

  it('have another boot ID after a reboot, and their containers have been started again', async () => {
    await deletePod(cluster, 'survivor', 0);
    await runPod(cluster, {
      name: 'restarted',
      node: one.name,
      image: image.name,
      script: 'sleep 600',
      spec: { restartPolicy: 'Always' },
    });
    const before = (await nodeOf(one)).status?.nodeInfo?.bootID;
    await one.reboot();
    const after = await until('another boot ID', 60_000, async () => {
      const seen = (await nodeOf(one)).status?.nodeInfo?.bootID;
      return seen !== before ? { found: seen } : { missing: 'it is the same' };
    });
    expect(after).toBe(readFileSync(one.fileOf('/proc/sys/kernel/random/boot_id'), 'utf8').trim());
    await readiness(one, true);
    await until('the container started again', 60_000, async () => {
      const { restartCount, state } =
        (await podAs(cluster, 'restarted', 'Running')).status?.containerStatuses?.[0] ?? {};
      return restartCount === 1 && state?.running ? { found: true } : { missing: JSON.stringify(state) };
    });
  });
});

describe('the end of a test cluster with real nodes', () => {
  it('leaves no process, cgroup, network, mount, device or file', async () => {
    const { directory } = cluster;
    const before = tracesOf(directory);
    expect(before).toMatchObject({
      directory: true,
      mounts: [],
      links: [expect.anything(), expect.anything(), expect.anything()],
    });
    expect(before.processes.length).toBeGreaterThan(10);
    await cluster.stop();
    expect(tracesOf(directory)).toEqual(noTraces);
  });
});
