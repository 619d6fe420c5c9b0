import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { annotations, jobWorkflowId, labels, nodeWorkflowId } from '../../contract/ids.ts';
import { merge } from '../../testbed/api.ts';
import { failContainer } from '../../testbed/failures.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { until } from '../../testbed/until.ts';
import { batch, bootId, LiveController, run } from './live-controller.ts';

let rig: LiveController;

beforeAll(async () => {
  rig = await LiveController.open();
});
afterAll(() => rig?.close());

describe('the watchers', () => {
  const kubeflow = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs', namespace: 'default' } as const;
  const relabel = (name: string, changes: object) =>
    rig.api.custom.patchNamespacedCustomObject({ ...kubeflow, name, body: { metadata: { labels: changes } } }, merge);
  const gpus = 0;

  it('start the workflow of an opted-in job, notify it of a failed pod once, of a request by label, and of its end', async () => {
    const job = await createJob(
      rig.api,
      pytorchJob({ name: `llm-${run}`, workers: 1, gpus, labels: { [labels.cascadingRecovery]: 'true' } }),
    );
    const id = jobWorkflowId(job);
    await rig.started(id);
    const pods = await awaitRunning(rig.api, job);
    expect(await rig.signalsOf(id)).toEqual([]);

    const [first] = pods;
    if (!first) throw new Error('no pod');
    await failContainer(rig.api, first, { exitCode: 1, restart: true });
    await rig.awaitSignal(id, new RegExp(`^pod/${first.metadata?.uid}/`));
    await relabel(job.name, { [labels.needRecovery]: 'true' });
    await rig.awaitSignal(id, 'recover label');
    await relabel(job.name, { [labels.cascadingRecovery]: 'false' });
    await rig.awaitSignal(id, 'jobObserved opted-out');
    await relabel(job.name, { [labels.cascadingRecovery]: 'true' });
    await rig.awaitSignal(id, 'jobObserved opted-in');
    await rig.api.custom.deleteNamespacedCustomObject({ ...kubeflow, name: job.name });
    const all = await rig.awaitSignal(id, 'jobObserved gone');
    expect(all.filter((each) => each.startsWith('pod/'))).toHaveLength(1);
  });

  it('restart the workflow of an opted-in job that was terminated or cancelled, and send nothing to one that runs', async () => {
    const optIn = { [labels.cascadingRecovery]: 'true' };
    const [ended, healthy] = await Promise.all(
      ['ended', 'healthy'].map((name) =>
        createJob(rig.api, pytorchJob({ name: `${name}-${run}`, workers: 0, gpus, labels: optIn })),
      ),
    );
    if (!ended || !healthy) throw new Error('no jobs');
    await Promise.all([ended, healthy].map((job) => rig.started(jobWorkflowId(job))));
    const lengthOf = async () =>
      (await rig.temporal.workflow.getHandle(jobWorkflowId(healthy)).describe()).historyLength;
    const before = await lengthOf();
    for (let again = 0; again < 2; again++) {
      const { runId } = await rig.temporal.workflow.getHandle(jobWorkflowId(ended)).describe();
      await rig.temporal.workflow.getHandle(jobWorkflowId(ended), runId).terminate('a mistake');
      await until('another run looks after it', 60_000, async () => {
        const now = await rig.temporal.workflow.getHandle(jobWorkflowId(ended)).describe();
        return now.runId !== runId && now.status.name === 'RUNNING' ? { found: true } : { missing: now.status.name };
      });
    }
    expect(await lengthOf()).toBe(before);
    for (const { name } of [ended, healthy]) await rig.api.custom.deleteNamespacedCustomObject({ ...kubeflow, name });
  });

  it('leave a job alone that is not opted in', async () => {
    const ignored = async () =>
      Number(/(\d+)$/.exec(await rig.metrics.getSingleMetricAsString('kcover_recovery_labels_ignored_total'))?.[1]);
    const before = await ignored();
    const job = await createJob(
      rig.api,
      pytorchJob({ name: `other-${run}`, workers: 0, gpus, labels: { [labels.needRecovery]: 'true' } }),
    );
    const [pod] = await awaitRunning(rig.api, job);
    if (pod) await failContainer(rig.api, pod, { exitCode: 1, restart: true });
    await until('the request is ignored', 60_000, async () =>
      (await ignored()) > before ? { found: true } : { missing: 'not counted' },
    );
    await expect(rig.temporal.workflow.getHandle(jobWorkflowId(job)).describe()).rejects.toThrow();
    await rig.api.custom.deleteNamespacedCustomObject({ ...kubeflow, name: job.name });
  });

  it('notify the workflow of a node that its taint was removed by another client', async () => {
    const { node } = await rig.agentOf(0);
    expect(await rig.post(batch(node, [1]), await rig.tokenOf(0))).toMatchObject({ status: 202 });
    const spec = await rig.api.core.readNode({ name: node });
    const before = (await rig.signalsOf(nodeWorkflowId(node))).length;
    const taint = { key: 'kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' };
    const others = (spec.spec?.taints ?? []).filter(({ key }) => key !== taint.key);
    await rig.api.core.patchNode(
      {
        name: node,
        body: {
          metadata: { annotations: { [annotations.quarantineIncident]: `node/${node}/x` } },
          spec: { taints: [...others, taint] },
        },
      },
      merge,
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await rig.signalsOf(nodeWorkflowId(node))).toHaveLength(before);
    await rig.api.core.patchNode(
      {
        name: node,
        body: { metadata: { annotations: { [annotations.quarantineIncident]: null } }, spec: { taints: others } },
      },
      merge,
    );
    await until('the node is notified', 60_000, async () => {
      const all = (await rig.signalsOf(nodeWorkflowId(node))).slice(before);
      return all.includes('nodeObserved') ? { found: all } : { missing: JSON.stringify(all) };
    });
  });

  it('notify a job workflow at the start that its job was deleted while no controller led', async () => {
    const job = await createJob(
      rig.api,
      pytorchJob({ name: `gone-${run}`, workers: 0, gpus, labels: { [labels.cascadingRecovery]: 'true' } }),
    );
    await rig.started(jobWorkflowId(job));
    await rig.controller.stop();
    await rig.api.custom.deleteNamespacedCustomObject({ ...kubeflow, name: job.name });
    await rig.startAgain('again');
    await rig.awaitSignal(jobWorkflowId(job), 'jobObserved gone');
  });

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
  const fault = {
    id: `kernel/${bootId}/returned`,
    source: 'kernel',
    code: 'xid/79',
    message: 'm',
    seenAt: new Date().toISOString(),
  };

  it.each<[string, string, boolean]>([
    ['leave another machine alone that takes the name of a quarantined one that went', 'other-machine', false],
    ['quarantine a machine again that returns after it went while quarantined', 'same-machine', true],
  ])('%s', async (_sentence, systemUuid, again) => {
    const name = `returning-${run}`;
    await endWorkflow(nodeWorkflowId(name), {
      node: name,
      outcome: 'gone',
      because: 'the node object is gone',
      systemUuid: 'same-machine',
      quarantinedFor: [fault],
    });
    await rig.api.core.createNode({ body: lostNode(systemUuid) });
    try {
      if (again) await rig.awaitSignal(nodeWorkflowId(name), fault.id);
      else await new Promise((resolve) => setTimeout(resolve, 1000));
      const { status } = await rig.temporal.workflow.getHandle(nodeWorkflowId(name)).describe();
      expect(status.name).toBe(again ? 'RUNNING' : 'COMPLETED');
    } finally {
      await rig.api.core.deleteNode({ name });
      await rig.temporal.workflow
        .getHandle(nodeWorkflowId(name))
        .terminate()
        .catch(() => undefined);
    }
  });

  /** A run that has ended with this result, without a worker. */
  async function endWorkflow(workflowId: string, result: object): Promise<void> {
    const taskQueue = `ending-${randomUUID()}`;
    await rig.temporal.workflow.start('nodeQuarantine', { workflowId, taskQueue, args: [{ node: 'n' }] });
    const service = rig.temporal.connection.workflowService;
    const { taskToken } = await rig.temporal.withDeadline(Date.now() + 10_000, () =>
      service.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue } }),
    );
    const payloads = [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(result)) }];
    await service.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken,
      commands: [{ commandType: 4, completeWorkflowExecutionCommandAttributes: { result: { payloads } } }],
    });
  }
});
