import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import { defaultPayloadConverter, defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { jobWorkflowId, labels, nodeWorkflowId } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import { jobPath } from '../../kube/jobs/kinds/index.ts';
import { askKube } from '../../kube/client/requests.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { kernelFault } from '../support/builders.ts';
import { eventually } from '../support/rig.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

let cluster: LiveCluster;
beforeAll(async () => {
  cluster = await liveCluster();
});
afterAll(() => cluster.close());

const uid = () => randomUUID().slice(0, 8);

async function runningJob(given: Record<string, string>): Promise<{ job: JobRef; nodes: readonly string[] }> {
  const running = await createJob(
    cluster.api,
    pytorchJob({ name: `tell-${uid()}`, workers: 1, gpus: 0, labels: given }),
  );
  const pods = await awaitRunning(cluster.api, running);
  const { kind, namespace, name, uid: id } = running;
  return { job: { kind, namespace, name, uid: id }, nodes: pods.flatMap((pod) => pod.spec?.nodeName ?? []) };
}
const remove = (job: JobRef) =>
  askKube<KubernetesObject>(cluster.kube, { method: 'DELETE', path: jobPath(job) }, 'tidy up');

describe('notifying the jobs on a node', () => {
  it('starts the workflow of each opted-in job with the faults, and leaves the others alone', async () => {
    const { job, nodes } = await runningJob({ [labels.cascadingRecovery]: 'true' });
    const other = await runningJob({ [labels.cascadingRecovery]: 'false' });
    const handle = cluster.client.workflow.getHandle(jobWorkflowId(job));
    try {
      const notified = (
        await Promise.all(
          [...new Set([...nodes, ...other.nodes])].map((node) =>
            cluster.run('notifyJobs', { node, faults: [kernelFault({ node })] }),
          ),
        )
      ).flat();
      expect(notified).toContain(jobWorkflowId(job));
      expect(notified).not.toContain(jobWorkflowId(other.job));
      const seen = await handle.describe();
      expect(seen.type).toBe('trainingJob');
      const { events } = await handle.fetchHistory();
      expect(
        events?.some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'faultsObserved'),
      ).toBe(true);
    } finally {
      await handle.terminate('tidy up');
      await Promise.all([remove(job), remove(other.job)]);
    }
  });
});

describe('a job whose failed pod was replaced on another node', () => {
  const start = async (node: string) => {
    const workflowId = jobWorkflowId({ namespace: 'train', name: `waits-${uid()}`, uid: 'u-1' });
    const attributes = new TypedSearchAttributes([
      { key: defineSearchAttributeKey('KcoverNode', 'KEYWORD_LIST'), value: [node] },
    ]);
    return cluster.client.workflow.start('trainingJob', {
      workflowId,
      taskQueue: 'nobody-listens',
      args: [],
      typedSearchAttributes: attributes,
    });
  };

  it('is notified of the faults of the node as long as it waits for them, and not of those of another job', async () => {
    const node = `gone-${uid()}`;
    const [waiting, other] = await Promise.all([start(node), start(`not-${node}`)]);
    try {
      const faults = [kernelFault({ node }), kernelFault({ id: 'kernel/b/2', node, job: 'u-2' })];
      const notified = await eventually(
        () => cluster.run('notifyJobs', { node, faults }),
        (ids) => ids.length > 0,
      );
      expect(notified).toEqual([waiting.workflowId]);
      const { events } = await waiting.fetchHistory();
      const signals = events?.flatMap(({ workflowExecutionSignaledEventAttributes: given }) =>
        given ? [JSON.stringify(defaultPayloadConverter.fromPayload(given.input?.payloads?.[0] ?? {}))] : [],
      );
      expect(signals).toEqual([JSON.stringify({ faults: faults.slice(0, 1) })]);
    } finally {
      await Promise.all([waiting, other].map((handle) => handle.terminate('tidy up')));
    }
  });
});

describe('looking for recoveries', () => {
  it('finds those of this job object, and the one that still runs', async () => {
    const job: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: `find-${uid()}`, uid: 'u-1' };
    const start = (id: string) =>
      cluster.client.workflow.start('recovery', { workflowId: id, taskQueue: 'nobody-listens', args: [] });
    const [done, open, others] = ['recovery/train/%/u-1/1', 'recovery/train/%/u-1/2', 'recovery/train/%/u-2/1'].map(
      (id) => id.replace('%', job.name),
    ) as [string, string, string];
    await Promise.all([start(done), start(open), start(others)]);
    await cluster.client.workflow.getHandle(done).terminate('over');
    try {
      const found = await eventually(
        () => cluster.run('findRecoveries', { job }),
        ({ usage }) => usage.length === 2 && usage.some((each) => each.endedAt !== undefined),
      );
      expect(found.open).toBe(open);
      expect(found.usage.map((each) => each.incident).toSorted()).toEqual([done, open]);

      expect(await cluster.run('lookAtRecovery', { incident: open })).toEqual({ kind: 'running' });
      expect(await cluster.run('lookAtRecovery', { incident: done })).toMatchObject({
        kind: 'closed',
        report: { outcome: 'failed', faults: [] },
      });
      expect(await cluster.run('lookAtRecovery', { incident: `${open}-unknown` })).toMatchObject({
        kind: 'closed',
        report: { because: 'Temporal knows no such recovery' },
      });
    } finally {
      await Promise.all([open, others].map((id) => cluster.client.workflow.getHandle(id).terminate('tidy up')));
    }
  });

  it('skips waiting workflows that are gone', async () => {
    await expect(
      cluster.run('notifyWaiting', { workflowIds: [nodeWorkflowId(`gone-${uid()}`)] }),
    ).resolves.not.toThrow();
  });
});

describe('what cannot be helped', () => {
  it('ends at once when the node was replaced', async () => {
    const failure = await cluster
      .run('quarantineNode', { node: `none-${uid()}`, uid: 'u', incident: 'i', reason: 'r', because: 'b' })
      .catch((error: Error) => error);
    expect(failure).toMatchObject({ cause: { type: 'node.gone', nonRetryable: true } });
  });
});
