import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { generate } from 'selfsigned';
import { Agent, fetch } from 'undici';
import { annotations, jobWorkflowId, labels, nodeWorkflowId } from '../../contract/ids.ts';
import { reportPath } from '../../contract/reports.ts';
import { controllerSettings } from '../../contract/settings.schema.ts';
import { type Controller, startController } from '../../controller/index.ts';
import { connectKube, type Kube } from '../../kube/connection.ts';
import { agentAccount, agentAudience, agentNamespace } from '../../testbed/agents.ts';
import { type Api, connect, merge } from '../../testbed/api.ts';
import { failContainer } from '../../testbed/failures.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { podToken } from '../../testbed/tokens.ts';
import { until } from '../../testbed/until.ts';

/** A world that runs: `{kubeconfig, temporalAddress}`, with the agents deployed. */
const worldFile = process.env['KCOVER_TEST_WORLD'] ?? '';
const run = randomUUID().slice(0, 8);

let api: Api;
let kube: Kube;
let temporal: Client;
let controller: Controller;
let directory: string;
let certificate: { readonly cert: string; readonly private: string };
const metrics = new Registry();

beforeAll(async () => {
  const world = JSON.parse(readFileSync(worldFile, 'utf8')) as { kubeconfig: string; temporalAddress: string };
  api = connect(world.kubeconfig);
  kube = connectKube({ kubeconfig: world.kubeconfig });
  temporal = new Client({ connection: await Connection.connect({ address: world.temporalAddress }) });
  directory = mkdtempSync(join(tmpdir(), 'kcover-controller-'));
  certificate = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  writeFileSync(join(directory, 'tls.crt'), certificate.cert);
  writeFileSync(join(directory, 'tls.key'), certificate.private);
  controller = await start('first', metrics);
  await until('leading', 20_000, async () => (controller.leading() ? { found: true } : { missing: 'not yet' }));
}, 60_000);

afterAll(async () => {
  await controller?.stop();
  await temporal?.connection.close();
  await kube?.close();
  if (directory) rmSync(directory, { recursive: true });
});

/** Workflows of this file are taken by no worker: what they were told stays in their history. */
function start(podName: string, registry = new Registry()): Promise<Controller> {
  const settings = controllerSettings.parse({
    temporal: { taskQueue: `controller-test-${run}` },
    intake: { listen: '127.0.0.1:0', tls: { certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') } },
    leaderElection: { namespace: agentNamespace, name: `kcover-test-${run}`, lease: '4s', renew: '3s', retry: '500ms' },
  });
  const log = pino({ level: process.env['KCOVER_TEST_LOG'] ?? 'silent' });
  return startController({ settings, kube, temporal, identity: { podName, namespace: agentNamespace }, log, metrics: registry });
}

async function post(body: unknown, token: string | undefined, to = controller): Promise<{ status: number; body: unknown }> {
  const dispatcher = new Agent({ connect: { ca: certificate.cert } });
  const answer = await fetch(`https://127.0.0.1:${to.address.port}${reportPath}`, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const result = { status: answer.status, body: await answer.json() };
  await dispatcher.close();
  return result;
}

async function agentOf(index: number): Promise<{ pod: { namespace: string; name: string; uid: string }; node: string }> {
  const { items } = await api.core.listNamespacedPod({ namespace: agentNamespace, labelSelector: 'app.kubernetes.io/component=agent' });
  const running = items.filter(({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running');
  const pod = running.toSorted((a, b) => (a.spec?.nodeName ?? '').localeCompare(b.spec?.nodeName ?? ''))[index];
  return { pod: { namespace: agentNamespace, name: pod?.metadata?.name ?? '', uid: pod?.metadata?.uid ?? '' }, node: pod?.spec?.nodeName ?? '' };
}

const tokenOf = async (index: number, account: string = agentAccount, audience: string = agentAudience) =>
  podToken(api, (await agentOf(index)).pod, account, audience);

const bootId = randomUUID();
const kernelFault = (sequence: number) => ({
  id: `kernel/${bootId}/${sequence}`,
  source: 'kernel',
  code: 'xid/79',
  message: 'GPU has fallen off the bus.',
  seenAt: new Date().toISOString(),
  kernel: { bootId, sequence },
});
const batch = (node: string, seqs: readonly number[], more: object = {}): object => ({
  schema: 1,
  node,
  bootId,
  stream: run,
  reports: seqs.map((seq) => ({ seq, fault: kernelFault(seq) })),
  gaps: [],
  ...more,
});

/** Names of all signals of a workflow, and the fault ids in them. */
async function told(workflowId: string): Promise<string[]> {
  try {
    const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
    return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => {
      if (!signal) return [];
      const [payload] = (signal.input?.payloads ?? []).map(
        ({ data }) => JSON.parse(Buffer.from(data ?? []).toString()) as { faults?: { id: string }[]; change?: string; label?: boolean; uid?: string },
      );
      return payload?.faults?.map(({ id }) => id) ?? [[signal.signalName, payload?.change ?? (payload?.label ? 'label' : undefined)].filter(Boolean).join(' ')];
    });
  } catch {
    return [];
  }
}

const isTold = (workflowId: string, what: string | RegExp) =>
  until(`${workflowId} is told ${what}`, 15_000, async () => {
    const all = await told(workflowId);
    return all.some((each) => (typeof what === 'string' ? each === what : what.test(each))) ? { found: all } : { missing: `told ${JSON.stringify(all)}` };
  });

const started = (workflowId: string) =>
  until(`${workflowId} runs`, 15_000, async () => {
    const { status } = await temporal.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' ? { found: true } : { missing: status.name };
  });

describe('the intake', () => {
  it('answers 202 when Temporal took the faults, and a repeat has no effect', async () => {
    const { node } = await agentOf(0);
    const token = await tokenOf(0);
    expect(await post(batch(node, [1, 2]), token)).toEqual({ status: 202, body: { accepted: 2 } });
    const before = await told(nodeWorkflowId(node));
    expect(before).toEqual(expect.arrayContaining([`kernel/${bootId}/1`, `kernel/${bootId}/2`]));
    expect(await post(batch(node, [1, 2]), token)).toEqual({ status: 202, body: { accepted: 2 } });
    expect(await told(nodeWorkflowId(node))).toEqual(before);
    expect(await post(batch(node, [2, 3]), token)).toEqual({ status: 202, body: { accepted: 3 } });
    expect(await told(nodeWorkflowId(node))).toEqual([...before, `kernel/${bootId}/3`]);
  });

  it('takes a heartbeat without starting anything', async () => {
    const { node } = await agentOf(1);
    expect(await post(batch(node, []), await tokenOf(1))).toEqual({ status: 202, body: { accepted: 0 } });
    expect(await metrics.getSingleMetricAsString('kcover_agents_heard')).toMatch(/kcover_agents_heard [1-9]/);
  });

  it('overwrites the node that a fault names', async () => {
    const { node } = await agentOf(1);
    const fault = { ...kernelFault(7), node: 'another' };
    expect(await post(batch(node, [], { stream: `${run}-liar`, reports: [{ seq: 1, fault }] }), await tokenOf(1))).toMatchObject({ status: 202 });
    const { events } = await temporal.workflow.getHandle(nodeWorkflowId(node)).fetchHistory();
    const payloads = (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.input?.payloads ?? []);
    expect(payloads.map(({ data }) => Buffer.from(data ?? []).toString()).join()).not.toContain('another');
  });

  it.each<[string, number, string, () => Promise<{ status: number; body: unknown }>]>([
    ['refuses a batch of another node', 403, 'other-node', async () => post(batch((await agentOf(1)).node, [1]), await tokenOf(0))],
    ['refuses a pod of another account', 403, 'other-account', async () => post(batch((await agentOf(0)).node, [1]), await otherToken())],
    [
      'does not know a token of another audience',
      401,
      'unauthenticated',
      async () => post(batch((await agentOf(0)).node, [1]), await tokenOf(0, agentAccount, 'https://kubernetes.default.svc')),
    ],
    ['does not know who shows no token', 401, 'unauthenticated', () => post(batch('gpu', [1]), undefined)],
    ['does not know a forged token', 401, 'unauthenticated', () => post(batch('gpu', [1]), 'eyJhbGciOiJub25lIn0.e30.')],
    ['refuses what is no batch', 400, 'malformed', async () => post({ schema: 1 }, await tokenOf(0))],
    ['refuses what is no JSON', 400, 'malformed', async () => post('{"schema":', await tokenOf(0))],
    [
      'refuses a fault whose id is not its position in the kernel log',
      400,
      'malformed',
      async () => post(batch((await agentOf(0)).node, [], { reports: [{ seq: 1, fault: { ...kernelFault(1), id: 'kernel/other/1' } }] }), await tokenOf(0)),
    ],
    ['refuses more than a request may have', 413, 'too-large', async () => post(JSON.stringify({ filler: 'x'.repeat(1024 * 1024) }), await tokenOf(0))],
  ])('%s', async (_sentence, status, error, act) => {
    expect(await act()).toEqual({ status, body: { error, because: expect.any(String) } });
    expect(await metrics.getSingleMetricAsString('kcover_intake_rejected_total')).toContain(`reason="${error}"`);
  });

  async function otherToken(): Promise<string> {
    const name = `agent-like-${run}`;
    const { node } = await agentOf(0);
    await api.core.createNamespacedServiceAccount({ namespace: agentNamespace, body: { metadata: { name } } });
    const body = { metadata: { name }, spec: { nodeName: node, serviceAccountName: name, containers: [{ name: 'c', image: 'c' }] } };
    const { metadata } = await api.core.createNamespacedPod({ namespace: agentNamespace, body });
    return podToken(api, { namespace: agentNamespace, name, uid: metadata?.uid ?? '' }, name, agentAudience);
  }

  it('refuses the token of a pod that is gone', async () => {
    const { pod, node } = await agentOf(2);
    const token = await tokenOf(2);
    await api.core.deleteNamespacedPod({ ...pod, gracePeriodSeconds: 0 });
    const answer = await post(batch(node, [1]), token);
    expect([401, 403]).toContain(answer.status);
  });

  it('answers 503 as a standby, and takes over when the leader stops', async () => {
    const standby = await start('second');
    try {
      const { node } = await agentOf(0);
      expect(await post(batch(node, [1]), await tokenOf(0), standby)).toMatchObject({ status: 503, body: { error: 'not-leading' } });
      await controller.stop();
      await expect(controller.stopped).resolves.toBe('stopped');
      await until('the standby leads', 5000, async () => (standby.leading() ? { found: true } : { missing: 'not yet' }));
      expect(await post(batch(node, [4]), await tokenOf(0), standby)).toEqual({ status: 202, body: { accepted: 4 } });
    } finally {
      await standby.stop();
      metrics.clear();
      controller = await start('third', metrics);
      await until('leading', 5000, async () => (controller.leading() ? { found: true } : { missing: 'not yet' }));
    }
  }, 30_000);
});

describe('the watchers', () => {
  const kubeflow = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs', namespace: 'default' } as const;
  const relabel = (name: string, changes: object) =>
    api.custom.patchNamespacedCustomObject({ ...kubeflow, name, body: { metadata: { labels: changes } } }, merge);
  const gpus = 0;

  it('start the workflow of an opted-in job, tell it of a failed pod once, of a wish by label, and of its end', async () => {
    const job = await createJob(api, pytorchJob({ name: `llm-${run}`, workers: 1, gpus, labels: { [labels.cascadingRecovery]: 'true' } }));
    const id = jobWorkflowId(job);
    await started(id);
    const pods = await awaitRunning(api, job);
    expect(await told(id)).toEqual([]);

    const [first] = pods;
    if (!first) throw new Error('no pod');
    await failContainer(api, first, { exitCode: 1, restart: true });
    await isTold(id, new RegExp(`^pod/${first.metadata?.uid}/`));
    await relabel(job.name, { [labels.needRecovery]: 'true' });
    await isTold(id, 'recover label');
    await relabel(job.name, { [labels.cascadingRecovery]: 'false' });
    await isTold(id, 'jobObserved opted-out');
    await relabel(job.name, { [labels.cascadingRecovery]: 'true' });
    await isTold(id, 'jobObserved opted-in');
    await api.custom.deleteNamespacedCustomObject({ ...kubeflow, name: job.name });
    const all = await isTold(id, 'jobObserved gone');
    expect(all.filter((each) => each.startsWith('pod/'))).toHaveLength(1);
  }, 60_000);

  it('leave a job alone that is not opted in', async () => {
    const ignored = async () => Number(/(\d+)$/.exec(await metrics.getSingleMetricAsString('kcover_recovery_labels_ignored_total'))?.[1]);
    const before = await ignored();
    const job = await createJob(api, pytorchJob({ name: `other-${run}`, workers: 0, gpus, labels: { [labels.needRecovery]: 'true' } }));
    const [pod] = await awaitRunning(api, job);
    if (pod) await failContainer(api, pod, { exitCode: 1, restart: true });
    await until('the wish is ignored', 5000, async () => ((await ignored()) > before ? { found: true } : { missing: 'not counted' }));
    await expect(temporal.workflow.getHandle(jobWorkflowId(job)).describe()).rejects.toThrow();
    await api.custom.deleteNamespacedCustomObject({ ...kubeflow, name: job.name });
  }, 30_000);

  it('tell a node that its taint was taken off by somebody else', async () => {
    const { node } = await agentOf(0);
    const spec = await api.core.readNode({ name: node });
    const before = (await told(nodeWorkflowId(node))).length;
    const taint = { key: 'kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' };
    const others = (spec.spec?.taints ?? []).filter(({ key }) => key !== taint.key);
    await api.core.patchNode(
      { name: node, body: { metadata: { annotations: { [annotations.quarantineIncident]: `node/${node}/x` } }, spec: { taints: [...others, taint] } } },
      merge,
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await told(nodeWorkflowId(node))).toHaveLength(before);
    await api.core.patchNode({ name: node, body: { metadata: { annotations: { [annotations.quarantineIncident]: null } }, spec: { taints: others } } }, merge);
    await until('the node is told', 5000, async () => {
      const all = (await told(nodeWorkflowId(node))).slice(before);
      return all.includes('nodeObserved') ? { found: all } : { missing: JSON.stringify(all) };
    });
  }, 30_000);

  it('tell a job workflow at the start that its job went while nobody watched', async () => {
    const job = await createJob(api, pytorchJob({ name: `gone-${run}`, workers: 0, gpus, labels: { [labels.cascadingRecovery]: 'true' } }));
    await started(jobWorkflowId(job));
    await controller.stop();
    await api.custom.deleteNamespacedCustomObject({ ...kubeflow, name: job.name });
    await startAgain();
    await isTold(jobWorkflowId(job), 'jobObserved gone');
  }, 30_000);

  const lostNode = (systemUUID: string) => ({
    metadata: { name: `returning-${run}`, labels: { 'testbed.kcover.io/kubelet': 'dead' } },
    status: {
      nodeInfo: {
        systemUUID,
        machineID: 'm',
        bootID: 'b',
        kernelVersion: 'k',
        osImage: 'o',
        containerRuntimeVersion: 'c',
        kubeletVersion: 'v1',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  });
  const fault = { id: `kernel/${bootId}/returned`, source: 'kernel', code: 'xid/79', message: 'm', seenAt: new Date().toISOString() };

  it.each<[string, string, boolean]>([
    ['leave another machine alone that takes the name of one that went while quarantined', 'other-machine', false],
    ['quarantine the same machine again that went while quarantined', 'same-machine', true],
  ])(
    '%s',
    async (_sentence, systemUuid, again) => {
      const name = `returning-${run}`;
      await endWorkflow(nodeWorkflowId(name), {
        node: name,
        outcome: 'gone',
        because: 'the node object is gone',
        systemUuid: 'same-machine',
        quarantinedFor: [fault],
      });
      await api.core.createNode({ body: lostNode(systemUuid) });
      try {
        if (again) await isTold(nodeWorkflowId(name), fault.id);
        else await new Promise((resolve) => setTimeout(resolve, 1000));
        const { status } = await temporal.workflow.getHandle(nodeWorkflowId(name)).describe();
        expect(status.name).toBe(again ? 'RUNNING' : 'COMPLETED');
      } finally {
        await api.core.deleteNode({ name });
        await temporal.workflow
          .getHandle(nodeWorkflowId(name))
          .terminate()
          .catch(() => undefined);
      }
    },
    30_000,
  );

  /** A run that has ended with this result, without a worker. */
  async function endWorkflow(workflowId: string, result: object): Promise<void> {
    const taskQueue = `ending-${randomUUID()}`;
    await temporal.workflow.start('nodeQuarantine', { workflowId, taskQueue, args: [{ node: 'n' }] });
    const service = temporal.connection.workflowService;
    const { taskToken } = await temporal.withDeadline(Date.now() + 10_000, () =>
      service.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue } }),
    );
    const payloads = [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(result)) }];
    await service.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken,
      commands: [{ commandType: 4, completeWorkflowExecutionCommandAttributes: { result: { payloads } } }],
    });
  }

  async function startAgain(): Promise<void> {
    metrics.clear();
    controller = await start('again', metrics);
    await until('leading', 10_000, async () => (controller.leading() ? { found: true } : { missing: 'not yet' }));
  }

  it('end with the Lease, and the intake with them', async () => {
    const { node } = await agentOf(0);
    const token = await tokenOf(0);
    const lease = { name: `kcover-test-${run}`, namespace: agentNamespace };
    await api.coordination.patchNamespacedLease({ ...lease, body: { spec: { holderIdentity: 'somebody-else' } } }, merge);
    await expect(controller.stopped).resolves.toBe('lost-lease');
    expect(controller.leading()).toBe(false);
    await expect(post(batch(node, [9]), token)).rejects.toThrow('fetch failed');
    expect((await api.coordination.readNamespacedLease(lease)).spec?.holderIdentity).toBe('somebody-else');
  });
});
